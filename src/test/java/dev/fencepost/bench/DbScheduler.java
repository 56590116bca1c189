package dev.fencepost.bench;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerBuilder;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import java.sql.Connection;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;

/** A peer: tasks that are to run once. It deletes what is done, and keeps no record of it. */
final class DbScheduler {

    private DbScheduler() {}

    static void createTable(Connection connection) {
        Script.run(
                connection,
                """
                create table scheduled_tasks (task_name text not null, task_instance text not null, task_data bytea,
                    execution_time timestamptz not null, picked boolean not null, picked_by text, last_success timestamptz,
                    last_failure timestamptz, consecutive_failures int, last_heartbeat timestamptz, version bigint not null,
                    priority smallint, primary key (task_name, task_instance))""",
                "create index on scheduled_tasks (execution_time)",
                "create index on scheduled_tasks (last_heartbeat)");
    }

    /** Until so many tasks are due. */
    static void fillUp(Connection connection, int count) {
        long missing = count - Script.count(connection, "select count(*) from scheduled_tasks");
        Script.run(
                connection,
                "insert into scheduled_tasks (task_name, task_instance, execution_time, picked, version, priority)"
                        + " select 'bench', '" + UUID.randomUUID() + "-' || n, now() - interval '1 hour', false, 1, 0"
                        + " from generate_series(1, " + missing + ") n");
    }

    static double perSecond(DataSource source, int threads, UnaryOperator<SchedulerBuilder> settings, Duration length)
            throws InterruptedException {
        AtomicLong count = new AtomicLong();
        OneTimeTask<Void> task = Tasks.oneTime("bench").execute((instance, context) -> count.incrementAndGet());
        Scheduler scheduler =
                settings.apply(Scheduler.create(source, task).threads(threads)).build();
        scheduler.start();
        try {
            while (count.get() == 0) {
                Thread.sleep(1); // until it has begun: its start does not count, and it tells nobody of it
            }
            long before = count.get();
            long began = System.nanoTime();
            Thread.sleep(length); // the slice itself: it works on threads of its own meanwhile
            return (count.get() - before) * 1e9 / (System.nanoTime() - began);
        } finally {
            scheduler.stop();
        }
    }
}

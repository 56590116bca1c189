-- paused_at set: nothing of the schedule is started before paused_until, or a resume where that is null. brakes_since: the last resume;
-- what failed or ran before it is forgotten by the brakes. defer_until: a usage limit. told_failures: so many failed ticks in a row
-- have been told, counted from the success at told_after, or from the beginning where that is null.
alter table job add column paused_at timestamptz;
alter table job add column paused_until timestamptz;
alter table job add column pause_cause text;
alter table job add column pause_reason text;
alter table job add column paused_by text;
alter table job add column brakes_since timestamptz;
alter table job add column defer_until timestamptz;
alter table job add column defer_reason text;
alter table job add column told_failures integer not null default 0;
alter table job add column told_after timestamptz;

-- not_before: of a further try after a failure. ordered: by a person, outside the catch-up cap; attempts_before then counts the attempts
-- that were there before the order, which it does not use up.
alter table tick add column not_before timestamptz;
alter table tick add column ordered boolean not null default false;
alter table tick add column attempts_before integer not null default 0;
alter table tick add column without_effects boolean not null default false;

-- stop_kind: CANCEL or TAKE_OVER, asked for by others than the holder.
alter table attempt add column classification text;
alter table attempt add column stop_kind text;
alter table attempt add column stop_reason text;

-- What the brakes count.
create index attempt_started on attempt (job, started_at);

-- What clean-up looks for.
create index tick_ended on tick (job, ended_at, slot_key) where ended_at is not null;
create index effect_settled on effect (settled_at) where settled_at is not null and not waits;

-- One row, written by every order: so its counts rise in the order of commits.
create table signal (
    id       integer primary key check (id = 1),
    revision bigint not null,
    reloads  bigint not null
) with (fillfactor = 50);
insert into signal (id, revision, reloads) values (1, 0, 0);

-- Who ordered what, and when; also what happened to a job as a whole.
create table job_event (
    id         bigint generated always as identity primary key,
    at         timestamptz not null,
    job        text,
    kind       text        not null,
    fence      bigint      not null default 0,
    until      timestamptz,
    reason     text,
    ordered_by text        not null,
    slots      text
);
create index job_event_of_job on job_event (job, id);

-- One row for each start of a node.
create table node (
    owner      text        primary key,
    host       text        not null,
    version    text        not null,
    jobs_file  text        not null,
    jobs_hash  text        not null,
    file_error text,
    started_at timestamptz not null,
    seen_at    timestamptz not null,
    stopped_at timestamptz
) with (fillfactor = 50);
create index node_newest on node (started_at desc);

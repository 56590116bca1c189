-- Items of work. state: DELAYED waits for its not_before, READY may be claimed, CLAIMED has a lease that may be over, DONE and DEAD are the
-- end, and then alone ended_at is set. Owner, run_id and expires_at stay when a lease runs out, until the next claim: they tell its late
-- holder from a stranger. Given back: owner null, expires_at '-infinity'. number: of two items the older one has the smaller.
create table work_item (
    id           text        primary key,
    number       bigint      generated always as identity,
    queue        text        not null,
    state        text        not null,
    priority     integer     not null,
    not_before   timestamptz,
    attempts     integer     not null default 0,
    max_attempts integer     not null,
    fence        bigint      not null default 0,
    owner        text,
    run_id       text,
    expires_at   timestamptz not null default '-infinity',
    enqueued_at  timestamptz not null,
    ended_at     timestamptz,
    reason       text,
    payload_type text,
    result_type  text,
    payload      bytea,
    result       bytea
) with (
    -- Every claim leaves an entry at the head of work_item_ready that the next ones have to step over until it is cleaned away.
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_analyze_scale_factor = 0.02,
    vacuum_index_cleanup = on
);
-- work_item_ready and work_item_ended hold all that the counting of them needs.
create index work_item_ready on work_item (queue, priority desc, number, not_before, enqueued_at) where state = 'READY';
create index work_item_delayed on work_item (queue, not_before) where state = 'DELAYED';
create index work_item_claimed on work_item (queue, expires_at) where state = 'CLAIMED';
-- A run id is of one grant.
create unique index work_item_run on work_item (run_id) where state = 'CLAIMED';
create index work_item_ended on work_item (queue, state, number) where state in ('DONE', 'DEAD');
create index work_item_prune on work_item (ended_at) where ended_at is not null;
create unique index work_item_number on work_item (number);

-- Only queues with a bound. Who claims in one of them locks its row.
create table work_queue (
    queue    text    primary key,
    capacity integer not null
);

create table work_artifact (
    item   text        not null,
    fence  bigint      not null,
    name   text        not null,
    type   text,
    size   bigint      not null,
    sha256 text        not null,
    at     timestamptz not null,
    primary key (item, fence, name)
);

-- Tokens of items that were pruned; never deleted.
create table work_fence (
    id    text   primary key,
    fence bigint not null
);

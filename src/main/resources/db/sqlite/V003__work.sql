-- Instants are milliseconds since 1970 UTC; but for work_item.expires_at, which is milliseconds on the boot clock of the boot that boot_id
-- names.
-- Items of work. state: DELAYED waits for its not_before, READY may be claimed, CLAIMED has a lease that may be over, DONE and DEAD are the
-- end, and then alone ended_at is set. Owner, run_id and expires_at stay when a lease runs out, until the next claim: they tell its late
-- holder from a stranger. Given back: owner null, expires_at 0. number: of two items the older one has the smaller.
create table work_item (
    number       integer primary key autoincrement,
    id           text    not null unique,
    queue        text    not null,
    state        text    not null,
    priority     integer not null,
    not_before   integer,
    attempts     integer not null default 0,
    max_attempts integer not null,
    fence        integer not null default 0,
    owner        text,
    run_id       text,
    expires_at   integer not null default 0,
    expires_wall integer not null default 0,
    boot_id      text    not null default '',
    enqueued_at  integer not null,
    ended_at     integer,
    reason       text,
    payload_type text,
    result_type  text,
    payload      blob,
    result       blob
);
-- work_item_ready and work_item_ended hold all that the counting of them needs.
create index work_item_ready on work_item (queue, priority desc, number, not_before, enqueued_at) where state = 'READY';
create index work_item_delayed on work_item (queue, not_before) where state = 'DELAYED';
create index work_item_claimed on work_item (queue, expires_at, boot_id) where state = 'CLAIMED';
-- A run id is of one grant.
create unique index work_item_run on work_item (run_id) where state = 'CLAIMED';
create index work_item_ended on work_item (queue, state, number) where state in ('DONE', 'DEAD');
create index work_item_prune on work_item (ended_at) where ended_at is not null;

-- Only queues with a bound.
create table work_queue (
    queue    text    primary key,
    capacity integer not null
);

create table work_artifact (
    item   text    not null,
    fence  integer not null,
    name   text    not null,
    type   text,
    size   integer not null,
    sha256 text    not null,
    at     integer not null,
    primary key (item, fence, name)
);

-- Tokens of items that were pruned; never deleted.
create table work_fence (
    id    text    primary key,
    fence integer not null
);

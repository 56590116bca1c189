-- Instants are milliseconds since 1970 UTC; but for lease.granted_boot and lease.expires_at, which are milliseconds on the boot clock
-- of the boot that boot_id names.
-- One row per resource, never deleted: the fence must outlive everything else. Released: owner null, expires_at 0.
create table lease (
    resource     text    primary key,
    fence        integer not null,
    owner        text,
    run_id       text,
    slot_key     text,
    granted_at   integer not null default 0,
    granted_boot integer not null default 0,
    expires_at   integer not null default 0,
    expires_wall integer not null default 0,
    boot_id      text    not null default ''
);

-- The cursor is the newest planned slot; the rest tells since when, and by which schedule.
create table job (
    id            text        primary key,
    schedule_text text        not null,
    since         integer     not null,
    cursor_at     integer     not null,
    retired_at    integer
);

-- The handling of one slot. A range of dropped or skipped slots is one row: slot_at is its last slot.
create table tick (
    job         text        not null,
    slot_key    text        not null,
    slot_at     integer     not null,
    on_time     integer     not null,
    opened_at   integer     not null,
    attempts    integer     not null default 0,
    run_id      text,
    outcome     text,
    reason      text,
    ended_at    integer,
    range_count integer,
    range_first integer,
    primary key (job, slot_key)
);
create index tick_open on tick (job) where outcome is null;
create index tick_newest on tick (job, slot_at desc);

create table attempt (
    run_id      text        primary key,
    job         text        not null,
    slot_key    text        not null,
    number      integer     not null,
    fence       integer     not null,
    owner       text        not null,
    started_at  integer     not null,
    ended_at    integer,
    outcome     text,
    counted     integer     not null default 1,
    exit_code   integer,
    signal      integer,
    reason      text,
    result      blob,
    output_tail text,
    unique (job, slot_key, number)
);
create index attempt_open on attempt (job) where ended_at is null;

-- Writes under a lease, accepted and refused. Never the payload.
create table write_event (
    id       integer primary key autoincrement,
    at       integer     not null,
    resource text        not null,
    owner    text        not null,
    fence    integer     not null,
    run_id   text,
    accepted integer     not null,
    reason   text
);

-- The rows that the demonstration of stale writers fights over.
create table demo_result (
    id           text primary key,
    result       text,
    completed_by text
);

-- One row per resource, never deleted: the fence must outlive everything else. Released: owner null, expires_at '-infinity'.
create table lease (
    resource   text        primary key,
    fence      bigint      not null,
    owner      text,
    run_id     text,
    slot_key   text,
    granted_at timestamptz not null default '-infinity',
    expires_at timestamptz not null default '-infinity'
) with (fillfactor = 50);

-- The cursor is the newest planned slot; the rest tells since when, and by which schedule.
create table job (
    id            text        primary key,
    schedule_text text        not null,
    since         timestamptz not null,
    cursor_at     timestamptz not null,
    retired_at    timestamptz
) with (fillfactor = 50);

-- The handling of one slot. A range of dropped or skipped slots is one row: slot_at is its last slot.
create table tick (
    job         text        not null,
    slot_key    text        not null,
    slot_at     timestamptz not null,
    on_time     boolean     not null,
    opened_at   timestamptz not null,
    attempts    integer     not null default 0,
    run_id      text,
    outcome     text,
    reason      text,
    ended_at    timestamptz,
    range_count bigint,
    range_first timestamptz,
    primary key (job, slot_key)
);
create index tick_open on tick (job) where outcome is null;
create index tick_newest on tick (job, slot_at desc);

create table attempt (
    run_id      text        primary key,
    job         text        not null,
    slot_key    text        not null,
    number      integer     not null,
    fence       bigint      not null,
    owner       text        not null,
    started_at  timestamptz not null,
    ended_at    timestamptz,
    outcome     text,
    counted     boolean     not null default true,
    exit_code   integer,
    signal      integer,
    reason      text,
    result      bytea,
    output_tail text,
    unique (job, slot_key, number)
);
create index attempt_open on attempt (job) where ended_at is null;

-- Writes under a lease, accepted and refused. Never the payload.
create table write_event (
    id       bigint generated always as identity primary key,
    at       timestamptz not null,
    resource text        not null,
    owner    text        not null,
    fence    bigint      not null,
    run_id   text,
    accepted boolean     not null,
    reason   text
);

-- The rows that the demonstration of stale writers fights over.
create table demo_result (
    id           text primary key,
    result       text,
    completed_by text
);

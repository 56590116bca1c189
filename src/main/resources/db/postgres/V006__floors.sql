-- One row. least_known: a program that does not know the script with this number must not work on the store. fence: a resource that is
-- new here begins above it, since a store that was lost may have known the resource already; raised by store bump alone.
create table store_floor (
    id          integer primary key check (id = 1),
    least_known integer not null,
    fence       bigint  not null
);
insert into store_floor (id, least_known, fence) values (1, 5, 0);

-- Triggers, so that a program of the version before keeps to it too. They cost nothing where the row was there before.
create function lease_floor() returns trigger language plpgsql as $$
begin
    update lease set fence = f.fence from store_floor f where resource = new.resource and lease.fence < f.fence;
    return null;
end $$;
create trigger lease_floor after insert on lease for each row execute function lease_floor();

create function work_item_floor() returns trigger language plpgsql as $$
begin
    update work_item set fence = f.fence from store_floor f where work_item.id = new.id and work_item.fence < f.fence;
    return null;
end $$;
create trigger work_item_floor after insert on work_item for each row execute function work_item_floor();

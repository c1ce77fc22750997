-- When a rooftop moves to another dealer group, its salespeople move too. A salesperson of rooftops in both groups is in both.
create function core.move_people(moving int, to_group int) returns void language plpgsql as $$
declare
  used bigint[];
  listed bigint[];
  shared bigint[];
  person record;
  same bigint;
  from_ids bigint[] := '{}';
  to_ids bigint[] := '{}';
begin
  -- The same lock as every other writer of the users of a group, in the order of the groups.
  perform pg_advisory_xact_lock(7305, g.group_id)
  from (select group_id from core.rooftop_group where group_id = to_group
      or group_id in (select u.group_id from core.app_user_rooftop as m join core.app_user as u using (user_id) where m.rooftop_id = moving)
      or group_id = (select group_id from core.rooftop where rooftop_id = moving)
    order by group_id) as g;
  select coalesce(array_agg(distinct e.user_id), '{}') into used
  from (
    select user_id from core.evaluation where rooftop_id = moving
    union all select user_id from core.evaluation_version where rooftop_id = moving
  ) as e join core.app_user as u using (user_id)
  where u.group_id <> to_group;
  select coalesce(array_agg(m.user_id), '{}') into listed
  from core.app_user_rooftop as m join core.app_user as u using (user_id)
  where m.rooftop_id = moving and u.group_id <> to_group;
  select coalesce(array_agg(distinct other_rooftop.user_id), '{}') into shared
  from (
    select user_id from core.evaluation where rooftop_id <> moving and user_id = any (used || listed)
    union all select user_id from core.evaluation_version where rooftop_id <> moving and user_id = any (used || listed)
    union all select user_id from core.app_user_rooftop where rooftop_id <> moving and user_id = any (used || listed)
  ) as other_rooftop;

  for person in
    select u.*, e.email from core.app_user as u left join pii.app_user_email as e using (user_id)
    where u.user_id = any (used || listed) order by u.user_id
  loop
    -- Only the list of the old group names this user: the list of the new group decides.
    continue when person.user_id = any (shared) and person.user_id <> all (used);
    select e.user_id into same from pii.app_user_email as e
    where e.group_id = to_group and lower(e.email) = lower(person.email);
    if same is null and person.user_id <> all (shared) then
      update core.app_user set group_id = to_group, last_changed_at = now() where user_id = person.user_id;
      update pii.app_user_email set group_id = to_group where user_id = person.user_id;
      continue;
    end if;
    if same is null then
      insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list, first_seen_at)
      values (to_group, person.display_name, person.is_generated_link_account, person.is_active, person.in_user_list, person.first_seen_at)
      returning user_id into same;
      insert into pii.app_user_email (user_id, group_id, email) select same, to_group, person.email where person.email is not null;
    end if;
    from_ids := from_ids || person.user_id;
    to_ids := to_ids || same;
  end loop;

  update core.evaluation as e set user_id = map.new_id
  from unnest(from_ids, to_ids) as map (old_id, new_id) where e.rooftop_id = moving and e.user_id = map.old_id;
  update core.evaluation_version as v set user_id = map.new_id
  from unnest(from_ids, to_ids) as map (old_id, new_id) where v.rooftop_id = moving and v.user_id = map.old_id;
  insert into core.app_user_rooftop (rooftop_id, user_id, is_active)
  select m.rooftop_id, map.new_id, m.is_active
  from core.app_user_rooftop as m join unnest(from_ids, to_ids) as map (old_id, new_id) on map.old_id = m.user_id
  where m.rooftop_id = moving
  on conflict do nothing;
  delete from core.app_user_rooftop as m using core.app_user as u
  where m.rooftop_id = moving and u.user_id = m.user_id and u.group_id <> to_group;
  delete from pii.app_user_email where user_id = any (from_ids) and user_id <> all (shared);
  delete from core.app_user where user_id = any (from_ids) and user_id <> all (shared);

  update core.app_user as u
  set in_user_list = status.listed, is_active = status.active, last_changed_at = now()
  from (
    select id as user_id, count(m.user_id) > 0 as listed, coalesce(bool_or(m.is_active), false) as active
    from unnest(listed || to_ids) as id left join core.app_user_rooftop as m on m.user_id = id group by id
  ) as status
  where status.user_id = u.user_id and (status.listed or u.in_user_list)
    and (u.in_user_list, u.is_active) is distinct from (status.listed, status.active);
end
$$;
comment on function core.move_people(int, int) is 'Moves the salespeople of a rooftop to its new dealer group, so that its evaluations and versions name only users of that group. A user of no other rooftop is moved; for the others a row is made in the new group, or the user with the same e-mail is taken. Calling it again changes nothing.';

-- Rooftops that moved earlier.
select core.move_people(r.rooftop_id, r.group_id)
from core.rooftop as r
where exists (
  select from core.evaluation as e join core.app_user as u using (user_id)
  where e.rooftop_id = r.rooftop_id and u.group_id <> r.group_id);

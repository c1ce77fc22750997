/** A change of the warehouse in SQL; `n` chooses the rows that it is about. */
type Change = (n: number) => string

/** The keys of one evaluation that has a day of completion. */
const one = (n: number) =>
  `(select rooftop_id, eval_id from core.evaluation where completed_date_local is not null and gone_at is null order by sha256((eval_id + ${n})::text::bytea) limit 1)`
const ofOne = (n: number) => `(rooftop_id, eval_id) in ${one(n)}`
const parts = [
  ...['core.watch_status_change', 'core.vehicle_check', 'core.photo', 'core.price_observation'],
  ...['core.reconditioning_item', 'core.evaluation_version', 'core.agg_appraisal'],
]
/** The key of one edit that counts. */
const edit = (n: number) =>
  `(rooftop_id, eval_id, version_no) = (select v.rooftop_id, v.eval_id, v.version_no from core.evaluation_version as v join core.evaluation as e using (rooftop_id, eval_id) where v.version_no > 1 and v.valid_from > e.completed_at and e.gone_at is null order by sha256((v.eval_id + ${n})::text::bytea) limit 1)`
const unit = (n: number) =>
  `(rooftop_id, stock_no) = (select rooftop_id, stock_no from core.stock_unit order by sha256((stock_no || ${n})::bytea) limit 1)`
/** The key of one evaluation whose vehicle has no search, as the service reported. */
const asked = (n: number) =>
  `(rooftop_id, eval_id) = (select rooftop_id, eval_id from mart.evaluation_wide where ppsr_searches = 0 order by sha256((eval_id + ${n})::text::bytea) limit 1)`
const columnsOf = (table: string, changed: Readonly<Record<string, string>>) =>
  `jsonb_populate_record(null::${table}, to_jsonb(source) || jsonb_build_object(${Object.entries(
    changed,
  )
    .map(([name, value]) => `'${name}', ${value}`)
    .join(', ')}))`
/** A copy of a row with some other values; generated columns are calculated. */
const copy = (table: string, where: string, changed: Readonly<Record<string, string>>) => `
  do $$ declare names text := (select string_agg(quote_ident(attname), ', ') from pg_attribute
    where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attidentity <> 'a');
  begin execute format('insert into ${table} (%1$s) select %1$s from (select (%2$s).* from ${table} as source where %3$s limit 1) as made', names,
    ${literal(columnsOf(table, changed))}, ${literal(where)}); end $$`
function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Every kind of change that some mart shows, by what it is. */
export const plantedChanges: Readonly<Record<string, Change>> = {
  'an evaluation is added to an old month': (n) =>
    copy('core.evaluation', ofOne(n), {
      ...{ eval_id: `${900_000 + n}`, completed_date_local: "'2025-11-03'" },
    }),
  'an evaluation changes its price': (n) =>
    `update core.evaluation set final_price = coalesce(final_price, 0) + ${1 + n} where ${ofOne(n)}`,
  'an evaluation is deleted with its parts': (n) =>
    [
      `create temp table gone on commit drop as ${one(n).slice(1, -1)}`,
      ...[...parts, 'core.evaluation'].map(
        (table) => `delete from ${table} where (rooftop_id, eval_id) in (select * from gone)`,
      ),
    ].join('; '),
  'an evaluation is deleted alone': (n) => `delete from core.evaluation where ${ofOne(n)}`,
  'a part of a deleted evaluation changes': (n) =>
    `update core.photo as photo set angle = 'angle ${n}' where not exists (select from core.evaluation as e where e.rooftop_id = photo.rooftop_id and e.eval_id = photo.eval_id)`,
  'an evaluation moves to another month': (n) =>
    `update core.evaluation set completed_date_local = completed_date_local - ${35 + n}, completed_at = completed_at - interval '${35 + n} days' where ${ofOne(n)}`,
  'an evaluation is open again': (n) =>
    `update core.evaluation set completed_date_local = null, completed_at = null where ${ofOne(n)}`,
  'an evaluation is completed late': (n) =>
    `update core.evaluation set completed_date_local = '2025-12-03', completed_at = '2025-12-03T00:00:00Z' where (rooftop_id, eval_id) in (select rooftop_id, eval_id from core.evaluation where completed_date_local is null order by sha256((eval_id + ${n})::text::bytea) limit 1)`,
  'an evaluation was created earlier': (n) =>
    `update core.evaluation set created_at = created_at - interval '${50 + n} days' where ${ofOne(n)}`,
  'an evaluation is not shown any more': (n) =>
    `update core.evaluation set gone_at = now() where ${ofOne(n)}`,
  'an evaluation moves to another rooftop with its edits': (n) =>
    [
      `create temp table moved on commit drop as select eval_id, e.rooftop_id, r.rooftop_id as next from core.evaluation as e join core.rooftop as r on r.rooftop_id <> e.rooftop_id where (e.rooftop_id, eval_id, 2) in (select rooftop_id, eval_id, version_no from core.evaluation_version) and completed_date_local is not null order by sha256((eval_id + ${n})::text::bytea), next limit 1`,
      ...['core.evaluation', 'core.evaluation_version'].map(
        (table) =>
          `update ${table} as one set rooftop_id = next from moved where one.rooftop_id = moved.rooftop_id and one.eval_id = moved.eval_id`,
      ),
    ].join('; '),
  'an evaluation is of another vehicle': (n) =>
    `update core.evaluation set vin = (select vin from core.stock_unit where length(vin) = 17 order by sha256((stock_no || ${n})::bytea) limit 1) where ${ofOne(n)}`,
  'an evaluation is of another person': (n) =>
    `update core.evaluation set user_id = (select user_id from core.app_user order by sha256((user_id + ${n})::text::bytea) limit 1) where ${ofOne(n)}`,
  'a version is written': (n) =>
    `update core.evaluation_version set valid_from = valid_from - interval '${n} s' where ${ofOne(n)}`,
  'an edit was made in another month': (n) =>
    `update core.evaluation_version set valid_from = valid_from + interval '${40 + n} days' where ${edit(n)}`,
  'the version before an edit has another price': (n) =>
    `update core.evaluation_version set final_price = coalesce(final_price, 0) + ${1 + n} where version_no = 1 and (rooftop_id, eval_id) in (select rooftop_id, eval_id from core.evaluation_version where ${edit(n)})`,
  'an edit is deleted': (n) => `delete from core.evaluation_version where ${edit(n)}`,
  'a line has another cost': (n) =>
    `update core.reconditioning_item set cost = coalesce(cost, 0) + ${1 + n} where (rooftop_id, eval_id) = (select rooftop_id, eval_id from core.reconditioning_item order by sha256((eval_id + ${n})::text::bytea) limit 1)`,
  'a line has a battery reading': (n) =>
    `update core.reconditioning_item set recon_type = 'info', battery_soh_pct = ${50 + (n % 50)} where ${ofOne(n)}`,
  'a photo is added': (n) => copy('core.photo', ofOne(n), { photo_id: `${800_000_000 + n}` }),
  'a photo belongs to another evaluation': (n) =>
    `update core.photo set (rooftop_id, eval_id) = ${one(n + 1)} where photo_id = (select photo_id from core.photo order by sha256((photo_id + ${n})::text::bytea) limit 1)`,
  'a price is added': (n) =>
    copy('core.price_observation', ofOne(n), {
      ...{ observed_at: "'2020-01-01T00:00:00Z'", is_current: 'false', retail: `${1000 + n}` },
    }),
  'a price is confirmed': (n) =>
    `update core.price_observation set last_confirmed_at = last_confirmed_at + interval '${40 + n} days' where ${ofOne(n)}`,
  'a check is added to a vehicle': (n) =>
    copy('core.vehicle_check', 'true', {
      ...{ check_ref: `'check ${n}'`, check_kind: "'ppsr'" },
      ...{ searched_at: 'now()', gone_at: 'null' },
    }),
  'a check is of another vehicle': (n) =>
    `update core.vehicle_check set vin = (select vin from core.evaluation where length(vin) = 17 order by sha256((eval_id + ${n})::text::bytea) limit 1) where check_ref = (select min(check_ref) from core.vehicle_check)`,
  'a watch changes its status': (n) =>
    `update core.vehicle_check set watch_status = case when watch_status = 'changed' then 'expired' else 'changed' end where check_ref = (select check_ref from core.vehicle_check order by sha256((check_ref || ${n})::bytea) limit 1)`,
  'a check is deleted with its changes of status': (n) =>
    `delete from core.vehicle_check where check_ref = (select check_ref from core.vehicle_check order by sha256((check_ref || ${n})::bytea) limit 1)`,
  'a unit is of another vehicle': (n) =>
    `update core.stock_unit set vin = (select vin from core.evaluation where length(vin) = 17 order by sha256((eval_id + ${n})::text::bytea) limit 1) where ${unit(n)}`,
  'a unit loses its vehicle': (n) => `update core.stock_unit set vin = null where ${unit(n)}`,
  'a unit without a vehicle changes': (n) =>
    `update core.stock_unit set make = 'Make ${n}' where vin is null`,
  'a unit came in earlier': (n) =>
    `update core.stock_unit set acquired_on = date '2025-12-01' - ${n % 60} where ${unit(n)}`,
  'a unit is deleted': (n) => `delete from core.stock_unit where ${unit(n)}`,
  'a unit has another first price': (n) =>
    `update core.stock_unit_change set changes = jsonb_set(changes, '{asking_price,1}', '${1000 + n}') where (rooftop_id, stock_no, import_id) = (select rooftop_id, stock_no, import_id from core.stock_unit_change where changes ? 'asking_price' and change = 'updated' order by import_id desc, stock_no limit 1)`,
  'a market price changes': (n) =>
    `update core.stock_price_observation set retail = coalesce(retail, 0) + ${1 + n} where ${unit(n)}`,
  'a market price is confirmed': (n) =>
    `update core.stock_price_observation set last_confirmed_at = last_confirmed_at + interval '${40 + n} days' where ${unit(n)}`,
  'an import has another time': (n) =>
    `update core.stock_import set imported_at = imported_at - interval '${1 + n} s' where import_id = (select max(import_id) from core.stock_unit_change where changes ? 'asking_price' and change = 'updated')`,
  'a rooftop has another name': (n) =>
    `update core.rooftop set rooftop_name = 'Rooftop ${n}' where rooftop_id = (select 1 + ${n} % count(*) from core.rooftop)`,
  'rooftops are in another time zone': () =>
    `update core.rooftop set time_zone = case time_zone when 'Pacific/Pago_Pago' then 'Pacific/Kiritimati' else 'Pacific/Pago_Pago' end`,
  'a group has another name': (n) =>
    `update core.rooftop_group set group_code = 'group ${n}' where group_id = (select min(group_id) from core.rooftop_group)`,
  'a rooftop joins another group': (n) =>
    `update core.rooftop set group_id = (select max(group_id) from core.rooftop_group) where rooftop_id = (select 1 + ${n} % count(*) from core.rooftop)`,
  'a person has another name': (n) =>
    `update core.app_user set display_name = 'Person ${n}' where user_id = (select user_id from core.app_user order by sha256((user_id + ${n})::text::bytea) limit 1)`,
  'a person is a link': (n) =>
    `update core.app_user set is_generated_link_account = not is_generated_link_account where user_id = (select user_id from core.app_user order by sha256((user_id + ${n})::text::bytea) limit 1)`,
  'a person has left the list': (n) =>
    `update core.app_user set in_user_list = not in_user_list where user_id = (select user_id from core.app_user order by sha256((user_id + ${n})::text::bytea) limit 1)`,
  'a sum is corrected by hand': (n) =>
    `update core.agg_appraisal set appraised_price = coalesce(appraised_price, 0) + ${1 + n} where ${ofOne(n)}`,
  'the sums of a rooftop are calculated again': (n) =>
    `select core.agg_rebuild((select 1 + ${n} % count(*)::int from core.rooftop)), core.vehicle_rebuild((select min(group_id) from core.rooftop_group))`,
  'the sums of reconditioning change': (n) =>
    `update core.agg_recon_day set last_cost = last_cost + ${1 + n} where completed_date_local = (select min(completed_date_local) from core.agg_recon_day)`,
  'a vehicle is corrected by hand': (n) =>
    `update core.vehicle set first_seen_at = first_seen_at - interval '${40 + n} days' where vin = (select vin from core.vehicle order by sha256((vin || ${n})::bytea) limit 1)`,
  'the sums of a day change': (n) =>
    `update core.agg_evaluation_day set photos = photos + ${1 + n} where completed_date_local = (select max(completed_date_local) from core.agg_evaluation_day)`,
  'the first stock list of a rooftop came later': () =>
    `update core.stock_import set imported_at = imported_at + interval '40 days' where import_id = (select min(import_id) from core.stock_import)`,
  'a rooftop has no stock list': (n) =>
    `delete from core.stock_import where rooftop_id = (select min(rooftop_id) + ${n % 2} from core.stock_import)`,
  'a rooftop has an earlier stock list': (n) =>
    copy('core.stock_import', 'true', {
      rooftop_id: `(select 1 + ${n} % count(*) from core.rooftop)`,
      imported_at: "'2025-11-03'",
    }),
  'the service was not asked about an evaluation': (n) =>
    `delete from ops.enrichment_state where ask = 'getpastppsrsearch' and ${asked(n)}`,
  'the service did not answer about an evaluation': (n) =>
    `update ops.enrichment_state set outcome = 'failed' where ask = 'getpastppsrsearch' and ${asked(n)}`,
  'the newest stock list of a rooftop is of prices alone': () =>
    `update core.stock_import set mode = 'delta' where imported_at = (select max(imported_at) from core.stock_import where mode = 'snapshot')`,
  'the stock lists are old': () =>
    `update core.stock_import set imported_at = '2025-09-03'::timestamptz + import_id * interval '1 s', mode = 'snapshot'`,
  'the newest stock list of each rooftop came again': (n) =>
    `update core.stock_import set confirmed_at = imported_at + interval '${70 + n} days' where import_id in (select max(import_id) from core.stock_import group by rooftop_id)`,
}

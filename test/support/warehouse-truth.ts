import type pg from 'pg'
import type { World } from '#src/sandbox/world.ts'
import { type TruthEvaluation, truthAt } from './truth.ts'

/** An evaluation in one spelling, from the source or from the warehouse: plain values that compare with `===`. */
export type Fact = Readonly<Record<string, unknown>> & { readonly evalId: number }

/** Whose evaluation it is: without dealerIds only the dealer group is known. */
export type Attribution = 'rooftop' | 'group'

/** What the warehouse should hold at an instant. */
export function sourceTruth(world: World, now: Date, attribution: Attribution): Fact[] {
  return truthAt(world, now).map((truth) => ({
    evalId: truth.evalId,
    owner: attribution === 'rooftop' ? truth.rooftopUid : truth.groupId,
    vin: text(truth.vin),
    createdAt: truth.createdAt.toISOString(),
    completedAt: truth.completedAt.toISOString(),
    updatedAt: truth.updatedAt.toISOString(),
    userName: text(truth.userName),
    userEmail: text(truth.userEmail)?.toLowerCase() ?? null,
    ...vehicle(truth),
    finalPrice: money(truth.finalPrice),
    reconTotal: money(truth.reconTotal),
    reconLineTotal: truth.reconditioning.some(({ cost }) => cost !== null)
      ? money(truth.reconLineTotal)
      : null,
    reconditioning: JSON.stringify(truth.reconditioning.map(reconLine)),
    photos: JSON.stringify(
      truth.photos.map((p) => [p.id, p.position, p.order, p.hero, p.heroSource, text(p.angle)]),
    ),
    photoCount: truth.photos.length,
    heroSource: truth.heroSource,
    userPrices: JSON.stringify(truth.userPrices.map((p) => [money(p.amount), p.currency])),
    customFields: JSON.stringify(customFields(truth)),
    ...customer(truth),
  }))
}

function vehicle(truth: TruthEvaluation) {
  return {
    make: text(truth.make),
    model: text(truth.model),
    variant: text(truth.variant),
    year: truth.year,
    registration: text(truth.registration),
    registrationState: text(truth.registrationState),
    odometer: truth.odometer,
    colour: text(truth.colour),
    condition: truth.condition,
    notes: text(truth.notes),
  }
}

function customer({ customer }: TruthEvaluation) {
  return {
    customerName: text(customer.name),
    phone: text(customer.phone),
    email: text(customer.email),
    postcode: text(customer.postcode),
    state: text(customer.state),
    address: text(customer.address),
    suburb: text(customer.suburb),
  }
}

function reconLine({ type, source, cost, value }: TruthEvaluation['reconditioning'][0]) {
  const percent = type === 'info' ? /^([\d.]+)%$/.exec(String(value))?.[1] : undefined
  const soh = percent === undefined ? null : Number(percent).toFixed(2)
  return [text(type), text(source), money(cost), text(value), soh]
}

function customFields({ customFields: fields }: TruthEvaluation) {
  return Object.entries(fields)
    .map(([name, { type, value }]) => [
      text(name),
      text(type),
      value !== null && typeof value === 'object' ? JSON.stringify(value) : wholeText(value),
    ])
    .sort(byFirst)
}

/** What the warehouse holds of evaluations that are not marked as gone. */
export async function warehouseTruth(pool: pg.Pool, attribution: Attribution): Promise<Fact[]> {
  const { rows } = await pool.query<Record<string, unknown>>(factsSql)
  return rows.map(({ rooftop_uid, group_code, ...row }) => ({
    ...row,
    evalId: row['evalId'] as number,
    owner: attribution === 'rooftop' ? rooftop_uid : group_code,
    // Not by Postgres: what lower() does depends on the locale.
    userEmail: (row['userEmail'] as string | null)?.toLowerCase() ?? null,
    createdAt: (row['createdAt'] as Date).toISOString(),
    completedAt: (row['completedAt'] as Date).toISOString(),
    updatedAt: (row['updatedAt'] as Date).toISOString(),
    reconditioning: JSON.stringify(row['reconditioning']),
    photos: JSON.stringify(row['photos']),
    userPrices: JSON.stringify(row['userPrices']),
    customFields: JSON.stringify((row['customFields'] as unknown[][]).sort(byFirst)),
  }))
}

const factsSql = `
  select e.eval_id as "evalId", r.rooftop_uid, g.group_code, e.vin, e.created_at as "createdAt",
    e.completed_at as "completedAt", e.source_updated_at as "updatedAt", u.display_name as "userName",
    m.email as "userEmail", e.make, e.model, e.variant, e.model_year as year,
    c.registration_plate as registration, e.registration_state as "registrationState", e.odometer, e.colour,
    e.condition_score as condition, c.notes, e.final_price as "finalPrice", e.recon_total as "reconTotal",
    e.recon_line_total as "reconLineTotal", e.photo_count as "photoCount", e.hero_source as "heroSource",
    c.customer_name as "customerName", c.phone, c.email, e.customer_postcode as postcode,
    e.customer_state as state, c.address, c.suburb,
    (select coalesce(json_agg(json_build_array(recon_type, source, cost::text, value_text, battery_soh_pct::text)
       order by line_no), '[]') from core.reconditioning_item i
     where (i.rooftop_id, i.eval_id) = (e.rooftop_id, e.eval_id) and last_version is null) as reconditioning,
    (select coalesce(json_agg(json_build_array(photo_id, display_position, supplied_order, is_hero, hero_source, angle)
       order by display_position), '[]') from core.photo p
     where (p.rooftop_id, p.eval_id) = (e.rooftop_id, e.eval_id) and removed_at is null) as photos,
    (select coalesce(json_agg(json_build_array(amount::text, currency_code) order by position), '[]')
     from core.user_price p where (p.rooftop_id, p.eval_id) = (e.rooftop_id, e.eval_id)) as "userPrices",
    (select coalesce(json_agg(json_build_array(field_name, field_type, value_text)), '[]')
     from core.custom_field_value f where (f.rooftop_id, f.eval_id) = (e.rooftop_id, e.eval_id)) as "customFields"
  from core.evaluation e
  join core.rooftop r using (rooftop_id)
  join core.rooftop_group g on g.group_id = e.group_id
  join pii.evaluation_customer c using (rooftop_id, eval_id)
  left join core.app_user u on u.user_id = e.user_id
  left join pii.app_user_email m on m.user_id = e.user_id
  where e.gone_at is null
  order by e.eval_id, r.rooftop_uid`

/** One line for every difference: what is missing, what should not be there, which field of an evaluation differs. */
export function differences(expected: readonly Fact[], actual: readonly Fact[]): string[] {
  const found = Map.groupBy(actual, ({ evalId }) => evalId)
  const lines = expected.flatMap((fact) => {
    const [held, ...more] = found.get(fact.evalId) ?? []
    found.delete(fact.evalId)
    if (!held) return [`${fact.evalId} is missing`]
    const twice = more.map(({ owner }) => `${fact.evalId} is stored again under ${String(owner)}`)
    return [...twice, ...fieldDifferences(fact, held)]
  })
  const surplus = found.keys().map((id) => `${id} should not be there`)
  return [...lines, ...surplus]
}

function fieldDifferences(fact: Fact, held: Fact): string[] {
  return Object.keys(fact)
    .filter((name) => fact[name] !== held[name])
    .map((name) => `${fact.evalId}.${name}: ${shown(held[name])} instead of ${shown(fact[name])}`)
}

function shown(value: unknown): string {
  const words = JSON.stringify(value) ?? 'nothing'
  return words.length > 200 ? `${words.slice(0, 200)}…` : words
}

/** Text as Postgres holds it (NUL and lone surrogates replaced); nothing and '' are null. */
function text(value: unknown): string | null {
  return value === '' ? null : wholeText(value)
}

function wholeText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return String(value).toWellFormed().replaceAll('\0', '\uFFFD')
}

function money(value: number | null): string | null {
  return value === null ? null : value.toFixed(3)
}

function byFirst([a]: readonly unknown[], [b]: readonly unknown[]): number {
  return String(a) < String(b) ? -1 : 1
}

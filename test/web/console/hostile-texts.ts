import { defaultWire } from '#src/values/wire.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'
import { type ConsoleFixture, openConsole, serveConsole } from './console-fixture.ts'

/** Texts that do harm where they are not escaped: as content, in attributes, in scripts, in SVG, as an address. */
export const vectors: readonly string[] = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(2)>',
  '"><svg/onload=alert(3)>',
  `'><b onmouseover='alert(4)'>`,
  '</title><script>alert(5)</script>',
  '</textarea></select></option><i>6</i>',
  'javascript:alert(7)',
  '" autofocus onfocus="alert(8)',
  '<!--<img src="--><img src=x onerror=alert(9)//">',
  ']]><u>10</u>',
  '<a href="java&#115;cript:alert(11)">x</a>',
  '&lt;em&gt;12&lt;/em&gt;',
  '<style>@import"//evil.example/13"</style>',
  '<base href="//evil.example/14/">',
  '<meta http-equiv=refresh content="0;url=//evil.example/15">',
  '<iframe srcdoc="<script>alert(16)</script>">',
  '</main></body><form action=//evil.example/17>',
  '\u202e<b>18</b>\u2066',
  `{{constructor.constructor("alert(19)")()}}\${alert(19)}`,
  '`-alert(20)-`',
]

/** Columns with texts of the services, of people and of other programs, which pages may show. */
const columns = [
  ...['app_user.display_name', 'custom_field_value.value_text', 'custom_field_value.field_type'],
  ...['evaluation.colour', 'evaluation.make', 'evaluation.model', 'evaluation.variant'],
  ...['evaluation.registration_state', 'evaluation.hero_source', 'evaluation.customer_state'],
  ...['agg_appraisal.make', 'agg_appraisal.model', 'photo.angle', 'price_insight.insight'],
  ...['price_observation.confidence', 'reconditioning_item.recon_type', 'rooftop.rooftop_name'],
  ...['reconditioning_item.source', 'reconditioning_item.value_text', 'stock_import.file_name'],
  ...['stock_import.imported_by', 'stock_import.encoding', 'stock_import_row.stock_no'],
  ...['stock_price_observation.error', 'stock_unit.adcode', 'stock_unit.make', 'stock_unit.model'],
  ...['stock_unit.plate', 'stock_unit.variant', 'vehicle_check.certificate_number'],
  ...['vehicle_check.search_number'],
].map((name) => `core.${name}`)

const bookkeeping = [
  ...['alert.alert_key', 'alert.detail', 'billable_call.note', 'billable_call.requested_by'],
  ...['console_session.user_agent', 'data_quality.detail', 'job_fire.error', 'job_fire.host'],
  ...['parked.reason', 'quarantine.payload', 'rate_member.host'],
  ...['run.host', 'run_stream.error', 'webhook_delivery.issue', 'webhook_subscription.url'],
  ...['console_action.message', 'console_action.email', 'enrichment_state.detail'],
].map((name) => `ops.${name}`)

/** The uid of the last rooftop: nothing of it may end a part of an address. */
export const hostileUid = `a/b?c#d&e=%2F+"'<i>\u00e9 ;`

type People = NonNullable<ConsoleFixture['config']['console']>['people']

/** A console on a warehouse whose every text is hostile: also the names of its rooftops, a uid and, where given, its people. */
export async function openHostileConsole(people?: People): Promise<ConsoleFixture> {
  const base = await openConsole({ fixture: await reportedFixture(7, 120) })
  await spoilTexts(base)
  const { fixture } = base
  const last = fixture.config.rooftops.at(-1)!
  await base.rows('update core.rooftop set rooftop_uid = $1 where rooftop_uid = $2', [
    hostileUid,
    last.uid,
  ])
  const rooftops = fixture.config.rooftops.map((one, at) => ({
    ...{ ...one, name: vectors[at]! },
    uid: one === last ? hostileUid : one.uid,
  }))
  const config = { ...fixture.config, rooftops }
  const context = { ...fixture.context, config }
  const settings = people === undefined ? {} : { people: [...people] }
  const served = await serveConsole({ ...fixture, config, context }, settings)
  return {
    ...served,
    [Symbol.asyncDispose]: async () => {
      await served[Symbol.asyncDispose]()
      await base[Symbol.asyncDispose]()
    },
  }
}

/** Replaces the texts of a warehouse by hostile ones, each row by another; first adds a row of each kind that a night leaves out. */
async function spoilTexts({ rows }: ConsoleFixture): Promise<void> {
  for (const statement of added) await rows(statement)
  await rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
     select 'evaluations', ${rooftop}, left(vector, 80), '[]', '{}', ${run} from unnest($1::text[]) as vector`,
    [vectors],
  )
  for (const column of [...columns, ...bookkeeping]) {
    const [schema, table, name] = column.split('.') as [string, string, string]
    await rows(
      `update ${schema}.${table} set ${name} = left(($1::text[])[1 + abs(hashtext(ctid::text || $2)) % $3::int],
         coalesce((select nullif(atttypmod, -1) - 4 from pg_attribute where attrelid = $4::regclass and attname = $2), 1000))
       where ${name} is not null`,
      [vectors, name, vectors.length, `${schema}.${table}`],
    )
  }
  await rows(
    `update ops.quarantine as q set issues = (
       select jsonb_agg(jsonb_build_object('path', vector, 'message', vector, 'code', vector)) from unnest($1::text[]) as vector)`,
    [vectors],
  )
  await rows(
    `update core.stock_import_row set issues = jsonb_build_array(jsonb_build_object('column', $1::text, 'message', $1::text, 'code', $1::text))
     where issues is not null`,
    [vectors[0]],
  )
}

const run = '(select max(run_id) from ops.run)'
const rooftop = '(select min(rooftop_id) from core.rooftop)'

const added = [
  `insert into ops.field_drift (stream, json_path, json_type, classification)
   select 'evaluations', vector, 'string', 'undocumented' from unnest(array['<script>alert(1)</script>', '"><svg/onload=alert(3)>']) as vector`,
  `insert into ops.moved_field (rooftop_id, stream, setting, configured, paths, evidence, records, run_id)
   select ${rooftop}, 'evaluations', 'appraisal.evaluation.make', '${JSON.stringify(defaultWire.appraisal.evaluation.make)}', array['<script>alert(1)</script>'], '"><svg/onload=alert(3)>', '{}', ${run}`,
  `insert into ops.data_quality (rooftop_id, stream, natural_key, check_name, detail, run_id)
   select ${rooftop}, 'evaluations', vector, left(vector, 40), vector, ${run} from unnest(array['<script>alert(1)</script>', '"><svg/onload=alert(3)>']) as vector`,
  `insert into ops.parked (key_name, stream, until, reason) values ('<script>alert(1)</script>', 'pricing', now() + interval '1 hour', '')`,
  `insert into ops.alert (alert_key, detail) select 'a' || n, '' from generate_series(1, 5) as n`,
  `insert into ops.billable_call (operation, budget, rooftop_id, natural_key, day, state, requested_by, note, check_ref)
   select '/ppsrsearch', 'ppsrSearch', ${rooftop}, '1', (now() at time zone 'UTC')::date, state, '', '', ''
   from unnest(array['reserved', 'committed', 'released']) as state`,
  `insert into ops.webhook_delivery (event, body_hash, body, state, issue, source_received_at)
   select 'ON_COMPLETE', sha256(n::text::bytea), '{}', 'unusable', '', now() from generate_series(1, 5) as n`,
  `insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, body, state, issue, source_received_at)
   select 'ON_COMPLETE', ${rooftop}, n, sha256(n::text::bytea), '{}', 'failed', '', now() from generate_series(1, 5) as n`,
  `insert into ops.job_fire (job_name, cause, slot_at, status, host, process_id, error) values ('nightly', 'schedule', now(), 'failed', '', 1, '')`,
  `insert into ops.console_action (email, role, action, target, message, outcome)
   values ('', 'engineer', '<img src=x onerror=alert(2)>', '{"page": "<img src=x onerror=alert(2)>", "\\"><b>": "</script>"}', '', 'failed')`,
  `update ops.run_stream set error = 'any', status = 'failed' where run_id = ${run}`,
  `update ops.run set status = 'partial' where run_id = ${run}`,
]

/** What a document has that its templates cannot have: a tag that they do not use, or an attribute that runs something. */
export function foreignMarkup(text: string): string[] {
  const tags = [...text.matchAll(/<[^>]*>?/g)].map(([tag]) => tag)
  return tags.filter((tag) => !isOurs(tag))
}

const wholeTag = /^<\/?(!?[a-z][a-z0-9]*)((?:\s+[\w:-]+(?:="[^"<>]*")?)*)\s*\/?>$/i

function isOurs(tag: string): boolean {
  const [, name = '', attributes = ''] = wholeTag.exec(tag) ?? []
  if (!ourTags.has(name.toLowerCase())) return false
  const isOwnScript = name !== 'script' || /^<(\/script|script src="\/console\/assets\/)/.test(tag)
  const runs = [...attributes.matchAll(/([\w:-]+)(?:="([^"]*)")?/g)].some(
    ([, attribute = '', value = '']) =>
      /^(on\w+|style|srcdoc|formaction)$/i.test(attribute) ||
      (/^(href|src|action)$/i.test(attribute) && /^\s*(javascript|data:text)/i.test(value)),
  )
  return isOwnScript && !runs
}

const ourTags = new Set(
  [
    ...[
      '!doctype html head meta title link script body a header strong nav ul ol li main footer p',
    ],
    ...[
      'form input label span button select option textarea table caption thead tbody tfoot tr th td',
    ],
    ...['h1 h2 h3 h4 section article div small code pre time details summary dl dt dd em b kbd'],
    ...['figure figcaption fieldset legend del ins progress meter output abbr br hr'],
    ...['svg g path rect line circle text tspan defs pattern use symbol desc polyline polygon'],
  ].flatMap((names) => names.split(' ')),
)

// Written by `npm run schema` from the migrated database; do not edit.
import type { Generated, GeneratedAlways } from 'kysely'

/** core.agg_appraisal */
interface CoreAggAppraisalTable {
  group_id: number
  rooftop_id: number
  eval_id: number
  completed_date_local: string
  month_start: string
  user_id: number | null
  vehicle_vin: string | null
  make: string | null
  model: string | null
  model_year: number | null
  currency_code: string
  photo_count: number
  hero_source: string | null
  ttc_bucket: number | null
  appraised_price: string | null
  recon_total: string | null
  recon: string[]
  price_outcome: string | null
  wholesale_first: string | null
  retail_first: string | null
  wholesale_now: string | null
  retail_now: string | null
  gap_to_wholesale_first: string | null
  gap_share: string | null
  gross_room_first: string | null
  gross_room_now: string | null
}

/** core.agg_evaluation_day */
interface CoreAggEvaluationDayTable {
  rooftop_id: number
  completed_date_local: string
  user_id: number
  currency_code: string
  appraisals: number
  with_price: number
  value_sum: string
  photos: number
  no_photo: number
  under_eight: number
  hero_default: number
  hero_missing: number
  complete: number
  timed: number
  ttc_bucket_0: number
  ttc_bucket_1: number
  ttc_bucket_2: number
  ttc_bucket_3: number
  ttc_bucket_4: number
  ttc_bucket_5: number
  ttc_bucket_6: number
  ttc_bucket_7: number
  ttc_bucket_8: number
  ttc_bucket_9: number
  ttc_bucket_10: number
  ttc_bucket_11: number
}

/** core.agg_pricing_day */
interface CoreAggPricingDayTable {
  rooftop_id: number
  completed_date_local: string
  known: number
  priced: number
  cannot_be_priced: number
  failed: number
}

/** core.agg_recon_day */
interface CoreAggReconDayTable {
  rooftop_id: number
  completed_date_local: string
  recon_type: string
  currency_code: string
  evaluations: number
  first_cost: string
  last_cost: string
  costed: Generated<number>
}

/** core.app_user */
interface CoreAppUserTable {
  user_id: GeneratedAlways<number>
  group_id: number
  display_name: string | null
  is_generated_link_account: boolean
  is_active: boolean | null
  in_user_list: boolean
  first_seen_at: Generated<Date>
  last_changed_at: Generated<Date>
}

/** core.app_user_rooftop */
interface CoreAppUserRooftopTable {
  rooftop_id: number
  user_id: number
  is_active: boolean
}

/** core.custom_field_value */
interface CoreCustomFieldValueTable {
  rooftop_id: number
  eval_id: number
  field_name: string
  field_type: string | null
  value_text: string | null
}

/** core.dim_date */
interface CoreDimDateTable {
  date_day: string
  year: number
  quarter: number
  month: number
  month_start: string
  month_label: string
  iso_year: number
  iso_week: number
  iso_dow: number
  day_name: string
  is_weekend: boolean
  au_fiscal_year: number
}

/** core.evaluation */
interface CoreEvaluationTable {
  rooftop_id: number
  eval_id: number
  group_id: number
  vin: string | null
  make: string | null
  model: string | null
  variant: string | null
  model_year: number | null
  registration_state: string | null
  colour: string | null
  user_id: number | null
  entry_at: Date
  created_at: Date
  created_at_source: string
  completed_at: Date | null
  source_updated_at: Date
  created_date_local: string
  completed_date_local: string | null
  odometer: number | null
  odometer_unit: string
  odometer_km: GeneratedAlways<number | null>
  condition_score: number | null
  final_price: string | null
  recon_total: string | null
  recon_line_total: string | null
  currency_code: string
  photo_count: number
  hero_source: string | null
  user_price_count: number
  customer_state: string | null
  customer_postcode: string | null
  version_no: number
  content_hash: Buffer
  first_loaded_at: Date
  last_changed_at: Date
  gone_at: Date | null
  run_id: number
  vehicle_vin: GeneratedAlways<string | null>
}

/** core.evaluation_version */
interface CoreEvaluationVersionTable {
  rooftop_id: number
  eval_id: number
  version_no: number
  valid_from: Date
  valid_to: Date | null
  observed_at: Date
  changed_fields: string[]
  final_price: string | null
  recon_total: string | null
  user_id: number | null
  odometer: number | null
  condition_score: number | null
  content_hash: Buffer
  run_id: number
}

/** core.photo */
interface CorePhotoTable {
  rooftop_id: number
  eval_id: number
  photo_id: number
  display_position: number
  supplied_order: number | null
  is_hero: boolean
  hero_source: string | null
  angle: string | null
  first_seen_at: Date
  removed_at: Date | null
}

/** core.price_insight */
interface CorePriceInsightTable {
  rooftop_id: number
  eval_id: number
  price_source: string
  observed_at: Date
  audience: string
  position: number
  insight: string
}

/** core.price_observation */
interface CorePriceObservationTable {
  rooftop_id: number
  eval_id: number
  price_source: string
  observed_at: Date
  last_confirmed_at: Date
  is_current: boolean
  as_of_date: string
  retail: string | null
  wholesale: string | null
  wholesale_low: string | null
  wholesale_high: string | null
  buy_to_retail: string | null
  quick_sale: string | null
  sweet_spot: string | null
  currency_code: string
  confidence: string
  reasoning_status: string | null
  value_hash: Buffer
  run_id: number
}

/** core.reconditioning_item */
interface CoreReconditioningItemTable {
  rooftop_id: number
  eval_id: number
  first_version: number
  line_no: number
  last_version: number | null
  recon_type: string | null
  source: string | null
  cost: string | null
  value_text: string | null
  battery_soh_pct: string | null
}

/** core.ref_watch_status */
interface CoreRefWatchStatusTable {
  watch_status: string
  noteworthiness: number
  is_terminal: boolean
  is_known: boolean
}

/** core.rooftop */
interface CoreRooftopTable {
  rooftop_id: GeneratedAlways<number>
  rooftop_uid: string
  dealer_id: number | null
  group_id: number
  rooftop_name: string
  region: string
  time_zone: string
  currency_code: string
  odometer_unit: string
  previous_time_zone: string | null
  time_zone_changed_at: Date | null
  left_config_at: Date | null
}

/** core.rooftop_group */
interface CoreRooftopGroupTable {
  group_id: GeneratedAlways<number>
  group_code: string
}

/** core.stock_evaluation */
interface CoreStockEvaluationTable {
  rooftop_id: number | null
  stock_no: string | null
  eval_rooftop_id: number | null
  eval_id: number | null
  completed_at: Date | null
  match_rule: string | null
}

/** core.stock_import */
interface CoreStockImportTable {
  import_id: GeneratedAlways<number>
  rooftop_id: number
  file_name: string
  sha256: Buffer
  byte_count: number
  mode: string
  encoding: string
  delimiter: string
  dialect: unknown
  preamble: unknown
  header: unknown
  mapping: unknown
  warnings: unknown
  records: number
  accepted: number
  rejected: number
  collapsed: number
  skipped: number
  added: number
  updated: number
  unchanged: number
  removed: number
  reappeared: number
  imported_by: string
  imported_at: Generated<Date>
  confirmed_at: Date | null
}

/** core.stock_import_row */
interface CoreStockImportRowTable {
  import_id: number
  line_no: number
  stock_no: string | null
  status: string
  issues: unknown
  cells: unknown
}

/** core.stock_market_price */
interface CoreStockMarketPriceTable {
  rooftop_id: number | null
  stock_no: string | null
  retail: string | null
  retail_low: string | null
  retail_high: string | null
  wholesale: string | null
  wholesale_low: string | null
  wholesale_high: string | null
  price_currency: string | null
  priced_at: Date | null
  not_priced_reason: string | null
}

/** core.stock_price_observation */
interface CoreStockPriceObservationTable {
  rooftop_id: number
  stock_no: string
  price_source: string
  observed_at: Date
  last_confirmed_at: Date
  is_current: boolean
  vin: string | null
  retail: string | null
  retail_low: string | null
  retail_high: string | null
  wholesale: string | null
  wholesale_low: string | null
  wholesale_high: string | null
  currency_code: string
  error: string | null
  value_hash: Buffer
  run_id: number
}

/** core.stock_unit */
interface CoreStockUnitTable {
  rooftop_id: number
  stock_no: string
  vin: string | null
  adcode: string | null
  plate: string | null
  make: string | null
  model: string | null
  variant: string | null
  model_year: number | null
  odometer_km: number | null
  asking_price: string | null
  cost: string | null
  currency_code: string
  price_on_application: boolean
  acquired_on: string | null
  extras: unknown
  content_hash: Buffer
  first_seen_at: Date
  last_seen_at: Date
  missing_since: Date | null
  off_stock_at: Date | null
  import_id: number
}

/** core.stock_unit_change */
interface CoreStockUnitChangeTable {
  import_id: number
  rooftop_id: number
  stock_no: string
  change: string
  changes: unknown
}

/** core.user_price */
interface CoreUserPriceTable {
  rooftop_id: number
  eval_id: number
  position: number
  amount: string | null
  currency_code: string | null
  body: unknown
}

/** core.vehicle_check */
interface CoreVehicleCheckTable {
  rooftop_id: number
  eval_id: number
  check_kind: string
  check_ref: string
  group_id: number
  vin: string
  searched_at: Date | null
  search_number: string | null
  certificate_number: string | null
  security_interest_count: number | null
  written_off_count: number | null
  stolen_count: number | null
  watch_status: string | null
  watch_status_since: Date | null
  watch_ends_at: Date | null
  first_seen_at: Date
  gone_at: Date | null
  run_id: number | null
}

/** core.vehicle_decode */
interface CoreVehicleDecodeTable {
  vin: string
  operation: string
  adcode: string | null
  outcome: string
  decoded_at: Date
  make: string | null
  model: string | null
}

/** core.watch_status_change */
interface CoreWatchStatusChangeTable {
  rooftop_id: number
  eval_id: number
  check_kind: string
  check_ref: string
  observed_at: Date
  from_status: string | null
  to_status: string
}

/** ops.bi_access */
interface OpsBiAccessTable {
  role_name: string
  group_code: string
}

/** ops.billable_call */
interface OpsBillableCallTable {
  call_id: GeneratedAlways<number>
  operation: string
  budget: string
  rooftop_id: number | null
  natural_key: string | null
  day: string
  state: string
  at: Generated<Date>
  settled_at: Date | null
  http_status: number | null
  requested_by: string
  note: string | null
  check_ref: string | null
  known_refs: string[] | null
  source_at: Date | null
  shown_at: Date | null
}

/** ops.certified_ids */
interface OpsCertifiedIdsTable {
  rooftop_id: number
  stream: string
  window_from: Date
  owner_id: number
  outcome: string
  ids: number[]
}

/** ops.coverage */
interface OpsCoverageTable {
  rooftop_id: number
  stream: string
  covered: Generated<string>
  wanted: Generated<string>
  uncertified: Generated<string>
}

/** ops.data_quality */
interface OpsDataQualityTable {
  rooftop_id: number
  stream: string
  natural_key: string
  check_name: string
  detail: string
  run_id: number
  seen_at: Generated<Date>
}

/** ops.enrichment_state */
interface OpsEnrichmentStateTable {
  rooftop_id: number
  stream: string
  eval_id: number
  next_due_at: Date | null
  last_asked_at: Date
  polling_since: Date | null
  failures: Generated<number>
  outcome: string
  detail: string | null
  ask: string
  refused_key: string | null
}

/** ops.mart_version */
interface OpsMartVersionTable {
  version: string
  checksum: string
  built_at: Generated<Date>
}

/** ops.new_to_pricing */
interface OpsNewToPricingTable {
  rooftop_id: number
  eval_id: number
}

/** ops.parked */
interface OpsParkedTable {
  key_name: string
  stream: string
  until: Date
  reason: string
}

/** ops.price_batch */
interface OpsPriceBatchTable {
  batch_no: GeneratedAlways<number>
  rooftop_id: number
  run_id: number
  state: string
  batch_id: string | null
  units: number
  percent: string | null
  submitted_at: Date
  progressed_at: Date
  finished_at: Date | null
  detail: string | null
}

/** ops.price_batch_unit */
interface OpsPriceBatchUnitTable {
  batch_no: number
  stock_no: string
  vin: string | null
  adcode: string | null
  odometer_km: number | null
  outcome: string | null
}

/** ops.quarantine */
interface OpsQuarantineTable {
  quarantine_id: GeneratedAlways<number>
  stream: string
  rooftop_id: number
  natural_key: string
  issues: unknown
  payload: string | null
  attempts: Generated<number>
  window_from: Date | null
  window_until: Date | null
  run_id: number
  first_seen_at: Generated<Date>
  last_seen_at: Generated<Date>
  resolved_at: Date | null
  cause: GeneratedAlways<string | null>
}

/** ops.run */
interface OpsRunTable {
  run_id: GeneratedAlways<number>
  command: string
  arguments: Generated<unknown>
  status: Generated<string>
  started_at: Generated<Date>
  finished_at: Date | null
  source_started_at: Date
  fence: Generated<number>
  host: string | null
  process_id: number | null
  lane: Generated<string>
  is_detached: Generated<boolean>
  resumes: number | null
  heartbeat_at: Generated<Date>
  source_id: number | null
  summary: unknown
}

/** ops.run_stream */
interface OpsRunStreamTable {
  run_id: number
  rooftop_id: number
  stream: string
  status: Generated<string>
  error: string | null
  listed: Generated<number>
  hydrated: Generated<number>
  inserted: Generated<number>
  updated: Generated<number>
  unchanged: Generated<number>
  quarantined: Generated<number>
  vanished: Generated<number>
  windows: Generated<number>
  requests: Generated<number>
  retries: Generated<number>
  finished_at: Date | null
  saved: Generated<number>
  not_before: Date | null
  began_at: Date | null
  refused_key: string | null
}

/** ops.schema_migration */
interface OpsSchemaMigrationTable {
  version: number
  name: string
  checksum: string
  applied_at: Generated<Date>
}

/** ops.stock_mapping */
interface OpsStockMappingTable {
  rooftop_id: number
  fingerprint: string
  columns: unknown
  confirmed_at: Generated<Date>
  absent: unknown
}

/** ops.stock_upload */
interface OpsStockUploadTable {
  upload_id: Generated<string>
  rooftop_id: number
  email: string
  file_name: string
  sha256: Buffer
  byte_count: number
  content: Buffer | null
  options: unknown
  result: unknown
  newest_import_id: number
  corrects_import_id: number | null
  import_began_at: Date | null
  import_id: number | null
  made_at: Generated<Date>
  ends_at: Generated<Date>
  inbox_file_id: number | null
}

/** ops.stream_state */
interface OpsStreamStateTable {
  rooftop_id: number
  stream: string
  largest_answer: Generated<number>
  list_cap: number | null
  state: Generated<unknown>
}

/** ops.unlisted_record */
interface OpsUnlistedRecordTable {
  rooftop_id: number
  stream: string
  record_id: number
  entry_at: Date
}

/** ops.vanished */
interface OpsVanishedTable {
  rooftop_id: number
  stream: string
  natural_key: string
  reason: string
  vanished_at: Date
  run_id: number
}

/** ops.webhook_settled */
interface OpsWebhookSettledTable {
  last_date: string
}

/** ops.window_certificate */
interface OpsWindowCertificateTable {
  rooftop_id: number
  stream: string
  window_from: Date
  window_until: Date
  listed_at: Date
  reread_at: Date
  listed: number
  loaded: number
  quarantined: number
  vanished: number
  least_entry_at: Date | null
  greatest_entry_at: Date | null
  ids_digest: Buffer
  settled: boolean
  proof: string
  run_id: number
  malformed: Generated<number>
  relist_nights: Generated<number>
}

/** pii.app_user_email */
interface PiiAppUserEmailTable {
  user_id: number
  group_id: number
  email: string
}

/** pii.archived_pdf */
interface PiiArchivedPdfTable {
  rooftop_id: number
  eval_id: number
  link_kind: string
  link_ref: string
  sha256: Buffer
  byte_count: number
  archived_at: Generated<Date>
}

/** pii.erasure */
interface PiiErasureTable {
  erasure_id: GeneratedAlways<number>
  subject_kind: string
  subject_masked: string
  reason: string | null
  requested_by: string
  requested_at: Generated<Date>
  done_at: Date | null
  receipt: unknown
}

/** pii.erasure_file */
interface PiiErasureFileTable {
  sha256: Buffer
  noted_at: Generated<Date>
}

/** pii.erasure_secret */
interface PiiErasureSecretTable {
  is_only: Generated<boolean>
  secret: Buffer
}

/** pii.evaluation_customer */
interface PiiEvaluationCustomerTable {
  rooftop_id: number
  eval_id: number
  customer_name: string | null
  phone: string | null
  email: string | null
  address: string | null
  suburb: string | null
  registration_plate: string | null
  notes: string | null
  erased_at: Date | null
}

/** pii.signed_link */
interface PiiSignedLinkTable {
  rooftop_id: number
  eval_id: number
  link_kind: string
  link_ref: string
  url: string
  signed_at: Date
  expires_at: Date
  is_in_scope: Generated<boolean>
}

/** pii.suppressed_contact */
interface PiiSuppressedContactTable {
  digest: Buffer
  kind: string
  erasure_id: number
  suppressed_at: Generated<Date>
}

/** raw.payload */
interface RawPayloadTable {
  rooftop_id: number
  endpoint: string
  natural_key: string
  fetched_at: Date
  content_hash: Buffer
  body: unknown
  run_id: number
}

/** The tables and views that the source names, by their full names. */
export interface Tables {
  'core.agg_appraisal': CoreAggAppraisalTable
  'core.agg_evaluation_day': CoreAggEvaluationDayTable
  'core.agg_pricing_day': CoreAggPricingDayTable
  'core.agg_recon_day': CoreAggReconDayTable
  'core.app_user': CoreAppUserTable
  'core.app_user_rooftop': CoreAppUserRooftopTable
  'core.custom_field_value': CoreCustomFieldValueTable
  'core.dim_date': CoreDimDateTable
  'core.evaluation': CoreEvaluationTable
  'core.evaluation_version': CoreEvaluationVersionTable
  'core.photo': CorePhotoTable
  'core.price_insight': CorePriceInsightTable
  'core.price_observation': CorePriceObservationTable
  'core.reconditioning_item': CoreReconditioningItemTable
  'core.ref_watch_status': CoreRefWatchStatusTable
  'core.rooftop': CoreRooftopTable
  'core.rooftop_group': CoreRooftopGroupTable
  'core.stock_evaluation': CoreStockEvaluationTable
  'core.stock_import': CoreStockImportTable
  'core.stock_import_row': CoreStockImportRowTable
  'core.stock_market_price': CoreStockMarketPriceTable
  'core.stock_price_observation': CoreStockPriceObservationTable
  'core.stock_unit': CoreStockUnitTable
  'core.stock_unit_change': CoreStockUnitChangeTable
  'core.user_price': CoreUserPriceTable
  'core.vehicle_check': CoreVehicleCheckTable
  'core.vehicle_decode': CoreVehicleDecodeTable
  'core.watch_status_change': CoreWatchStatusChangeTable
  'ops.bi_access': OpsBiAccessTable
  'ops.billable_call': OpsBillableCallTable
  'ops.certified_ids': OpsCertifiedIdsTable
  'ops.coverage': OpsCoverageTable
  'ops.data_quality': OpsDataQualityTable
  'ops.enrichment_state': OpsEnrichmentStateTable
  'ops.mart_version': OpsMartVersionTable
  'ops.new_to_pricing': OpsNewToPricingTable
  'ops.parked': OpsParkedTable
  'ops.price_batch': OpsPriceBatchTable
  'ops.price_batch_unit': OpsPriceBatchUnitTable
  'ops.quarantine': OpsQuarantineTable
  'ops.run': OpsRunTable
  'ops.run_stream': OpsRunStreamTable
  'ops.schema_migration': OpsSchemaMigrationTable
  'ops.stock_mapping': OpsStockMappingTable
  'ops.stock_upload': OpsStockUploadTable
  'ops.stream_state': OpsStreamStateTable
  'ops.unlisted_record': OpsUnlistedRecordTable
  'ops.vanished': OpsVanishedTable
  'ops.webhook_settled': OpsWebhookSettledTable
  'ops.window_certificate': OpsWindowCertificateTable
  'pii.app_user_email': PiiAppUserEmailTable
  'pii.archived_pdf': PiiArchivedPdfTable
  'pii.erasure': PiiErasureTable
  'pii.erasure_file': PiiErasureFileTable
  'pii.erasure_secret': PiiErasureSecretTable
  'pii.evaluation_customer': PiiEvaluationCustomerTable
  'pii.signed_link': PiiSignedLinkTable
  'pii.suppressed_contact': PiiSuppressedContactTable
  'raw.payload': RawPayloadTable
}

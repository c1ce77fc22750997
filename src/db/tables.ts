// Written by `npm run schema` from the migrated database; do not edit.
import type { Generated, GeneratedAlways } from 'kysely'

/** core.agg_appraisal */
export interface CoreAggAppraisalTable {
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
export interface CoreAggEvaluationDayTable {
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
export interface CoreAggPricingDayTable {
  rooftop_id: number
  completed_date_local: string
  known: number
  priced: number
  cannot_be_priced: number
  failed: number
}

/** core.agg_recon_day */
export interface CoreAggReconDayTable {
  rooftop_id: number
  completed_date_local: string
  recon_type: string
  currency_code: string
  evaluations: number
  first_cost: string
  last_cost: string
}

/** core.agg_repeat_vehicle */
export interface CoreAggRepeatVehicleTable {
  group_id: number
  vin: string
  currency_code: string
  evaluations: number
  rooftops: number
  first_on: string
  last_on: string
  lowest_price: string | null
  highest_price: string | null
}

/** core.app_user */
export interface CoreAppUserTable {
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
export interface CoreAppUserRooftopTable {
  rooftop_id: number
  user_id: number
  is_active: boolean
}

/** core.custom_field_value */
export interface CoreCustomFieldValueTable {
  rooftop_id: number
  eval_id: number
  field_name: string
  field_type: string | null
  value_text: string | null
}

/** core.dim_date */
export interface CoreDimDateTable {
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
export interface CoreEvaluationTable {
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
export interface CoreEvaluationVersionTable {
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

/** core.newest_fact */
export interface CoreNewestFactTable {
  rooftop_id: number | null
  stream: string | null
  newest_fact_at: Date | null
}

/** core.photo */
export interface CorePhotoTable {
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
export interface CorePriceInsightTable {
  rooftop_id: number
  eval_id: number
  price_source: string
  observed_at: Date
  audience: string
  position: number
  insight: string
}

/** core.price_observation */
export interface CorePriceObservationTable {
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
export interface CoreReconditioningItemTable {
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
export interface CoreRefWatchStatusTable {
  watch_status: string
  noteworthiness: number
  is_terminal: boolean
  is_known: boolean
}

/** core.rooftop */
export interface CoreRooftopTable {
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
}

/** core.rooftop_group */
export interface CoreRooftopGroupTable {
  group_id: GeneratedAlways<number>
  group_code: string
}

/** core.stock_asking_price */
export interface CoreStockAskingPriceTable {
  rooftop_id: number | null
  stock_no: string | null
  asking_price_first: string | null
  asking_price_now: string | null
  price_changes: number | null
}

/** core.stock_evaluation */
export interface CoreStockEvaluationTable {
  rooftop_id: number | null
  stock_no: string | null
  eval_rooftop_id: number | null
  eval_id: number | null
  completed_at: Date | null
  match_rule: string | null
}

/** core.stock_import */
export interface CoreStockImportTable {
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
}

/** core.stock_import_row */
export interface CoreStockImportRowTable {
  import_id: number
  line_no: number
  stock_no: string | null
  status: string
  issues: unknown
  cells: unknown
}

/** core.stock_market_price */
export interface CoreStockMarketPriceTable {
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

/** core.stock_outcome */
export interface CoreStockOutcomeTable {
  rooftop_id: number | null
  stock_no: string | null
  eval_rooftop_id: number | null
  eval_id: number | null
  acquired_on: string | null
  match_rule: string | null
}

/** core.stock_price_observation */
export interface CoreStockPriceObservationTable {
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
export interface CoreStockUnitTable {
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
export interface CoreStockUnitChangeTable {
  import_id: number
  rooftop_id: number
  stock_no: string
  change: string
  changes: unknown
}

/** core.stream_at_work */
export interface CoreStreamAtWorkTable {
  rooftop_id: number | null
  stream: string | null
  held: string | null
}

/** core.stream_status */
export interface CoreStreamStatusTable {
  rooftop_id: number | null
  stream: string | null
  last_status: string | null
  last_error: string | null
  last_attempt_at: Date | null
  clock_offset: string | null
  last_good_run_at: Date | null
  covered: string | null
  open_gaps: number | null
  unprovable: number | null
  quarantined: number | null
  vanished: number | null
  is_at_work: boolean | null
  read_to: Date | null
}

/** core.user_price */
export interface CoreUserPriceTable {
  rooftop_id: number
  eval_id: number
  position: number
  amount: string | null
  currency_code: string | null
  body: unknown
}

/** core.vehicle_check */
export interface CoreVehicleCheckTable {
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
export interface CoreVehicleDecodeTable {
  vin: string
  operation: string
  adcode: string | null
  outcome: string
  decoded_at: Date
  make: string | null
  model: string | null
}

/** core.watch_status_change */
export interface CoreWatchStatusChangeTable {
  rooftop_id: number
  eval_id: number
  check_kind: string
  check_ref: string
  observed_at: Date
  from_status: string | null
  to_status: string
}

/** ops.alert */
export interface OpsAlertTable {
  alert_id: GeneratedAlways<number>
  alert_key: string
  detail: string
  raised_at: Generated<Date>
  told_at: Date | null
  resolved_at: Date | null
}

/** ops.alert_message */
export interface OpsAlertMessageTable {
  message_id: Generated<string>
  target: string
  recipient: Generated<string>
  kind: string
  alert_id: number | null
  day: string | null
  severity: string
  detail: string | null
  made_at: Generated<Date>
  attempts: Generated<number>
  tried_at: Date | null
  retry_at: Date | null
  paused_until: Date | null
  sent_at: Date | null
  error: string | null
}

/** ops.bi_access */
export interface OpsBiAccessTable {
  role_name: string
  group_code: string
}

/** ops.bi_login */
export interface OpsBiLoginTable {
  role_name: string
  member_of: string
  granted_at: Generated<Date>
}

/** ops.billable_call */
export interface OpsBillableCallTable {
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
export interface OpsCertifiedIdsTable {
  rooftop_id: number
  stream: string
  window_from: Date
  owner_id: number
  outcome: string
  ids: number[]
}

/** ops.console_action */
export interface OpsConsoleActionTable {
  action_id: GeneratedAlways<number>
  at: Generated<Date>
  email: string
  role: string
  action: string
  target: Generated<unknown>
  shown_count: number | null
  outcome: Generated<string>
  message: string | null
  run_id: number | null
}

/** ops.console_link */
export interface OpsConsoleLinkTable {
  token_hash: Buffer
  email: string
  made_at: Generated<Date>
  ends_at: Date
}

/** ops.console_session */
export interface OpsConsoleSessionTable {
  token_hash: Buffer
  email: string
  started_at: Generated<Date>
  seen_at: Generated<Date>
  ends_at: Date
  user_agent: string | null
}

/** ops.console_try */
export interface OpsConsoleTryTable {
  address: string
  tried_at: Generated<Date>
  method: Generated<string>
}

/** ops.coverage */
export interface OpsCoverageTable {
  rooftop_id: number
  stream: string
  covered: Generated<string>
  wanted: Generated<string>
}

/** ops.data_quality */
export interface OpsDataQualityTable {
  rooftop_id: number
  stream: string
  natural_key: string
  check_name: string
  detail: string
  run_id: number
  seen_at: Generated<Date>
}

/** ops.enrichment_state */
export interface OpsEnrichmentStateTable {
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
}

/** ops.field_drift */
export interface OpsFieldDriftTable {
  stream: string
  json_path: string
  json_type: string
  classification: string
  first_seen_at: Generated<Date>
  last_seen_at: Generated<Date>
  seen: Generated<number>
}

/** ops.job */
export interface OpsJobTable {
  job_name: string
  schedule: string
  time_zone: string
  known_since: Generated<Date>
}

/** ops.job_fire */
export interface OpsJobFireTable {
  fire_id: GeneratedAlways<number>
  job_name: string
  cause: string
  slot_at: Date | null
  status: Generated<string>
  attempt: Generated<number>
  made_up: Generated<boolean>
  claimed_at: Generated<Date>
  heartbeat_at: Generated<Date>
  finished_at: Date | null
  host: string
  process_id: number
  run_ids: Generated<number[]>
  error: string | null
}

/** ops.mart_source */
export interface OpsMartSourceTable {
  reader: string | null
  source_schema: string | null
  source_name: string | null
  source_oid: number | null
  source_kind: string | null
  is_direct: boolean | null
}

/** ops.mart_version */
export interface OpsMartVersionTable {
  version: string
  checksum: string
  built_at: Generated<Date>
}

/** ops.parked */
export interface OpsParkedTable {
  key_name: string
  stream: string
  until: Date
  reason: string
}

/** ops.price_batch */
export interface OpsPriceBatchTable {
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

/** ops.price_batch_size */
export interface OpsPriceBatchSizeTable {
  rooftop_id: number
  size: number
  learned_at: Generated<Date>
}

/** ops.price_batch_unit */
export interface OpsPriceBatchUnitTable {
  batch_no: number
  stock_no: string
  vin: string | null
  adcode: string | null
  odometer_km: number | null
  outcome: string | null
}

/** ops.quarantine */
export interface OpsQuarantineTable {
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
}

/** ops.rate_budget */
export interface OpsRateBudgetTable {
  key_name: string
  rate: number | null
  next_at: Date | null
  blocked_until: Date | null
  throttled_at: Date | null
  state: Generated<unknown>
}

/** ops.rate_member */
export interface OpsRateMemberTable {
  key_name: string
  member_id: string
  host: string
  process_id: number
  demand: number
  in_flight: number
  seen_at: Date
}

/** ops.run */
export interface OpsRunTable {
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
}

/** ops.run_pace */
export interface OpsRunPaceTable {
  run_id: number
  minute_at: Date
  windows: Generated<number>
  loaded: Generated<number>
}

/** ops.run_stream */
export interface OpsRunStreamTable {
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
}

/** ops.schema_migration */
export interface OpsSchemaMigrationTable {
  version: number
  name: string
  checksum: string
  applied_at: Generated<Date>
}

/** ops.stock_inbox */
export interface OpsStockInboxTable {
  inbox: string
  known_since: Generated<Date>
  checked_at: Date | null
  arrived_at: Date | null
  problem: string | null
  problem_since: Date | null
}

/** ops.stock_inbox_file */
export interface OpsStockInboxFileTable {
  file_id: GeneratedAlways<number>
  inbox: string
  folder_id: string
  name_bytes: Buffer
  file_name: string
  state: Generated<string>
  byte_count: number
  modified_ns: string
  seen_at: Generated<Date>
  unchanged_since: Generated<Date>
  taken_as: string | null
  taken_at: Date | null
  attempts: Generated<number>
  reason: string | null
  ended_at: Date | null
  cleared_at: Date | null
  alert_key: string | null
}

/** ops.stock_inbox_part */
export interface OpsStockInboxPartTable {
  file_id: number
  rooftop_id: number
  sha256: Buffer
  outcome: string
  import_id: number | null
  reason: string | null
  command: string | null
  decided_at: Generated<Date>
}

/** ops.stock_mapping */
export interface OpsStockMappingTable {
  rooftop_id: number
  fingerprint: string
  columns: unknown
  confirmed_at: Generated<Date>
  absent: unknown
}

/** ops.stock_upload */
export interface OpsStockUploadTable {
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
export interface OpsStreamStateTable {
  rooftop_id: number
  stream: string
  largest_answer: Generated<number>
  list_cap: number | null
  state: Generated<unknown>
}

/** ops.unlisted_record */
export interface OpsUnlistedRecordTable {
  rooftop_id: number
  stream: string
  record_id: number
  entry_at: Date
}

/** ops.vanished */
export interface OpsVanishedTable {
  rooftop_id: number
  stream: string
  natural_key: string
  reason: string
  vanished_at: Date
  run_id: number
}

/** ops.verification */
export interface OpsVerificationTable {
  rooftop_id: number
  stream: string
  verified_at: Date
  fault: string | null
  fault_since: Date | null
}

/** ops.webhook_delivery */
export interface OpsWebhookDeliveryTable {
  delivery_id: GeneratedAlways<number>
  event: string
  rooftop_id: number | null
  eval_id: number | null
  body_hash: Buffer
  body: unknown
  state: string
  issue: string | null
  source_event_at: Date | null
  source_updated_at: Date | null
  source_received_at: Date
  received_at: Generated<Date>
  duplicates: Generated<number>
  attempts: Generated<number>
  due_at: Generated<Date>
  run_id: number | null
  outcome: string | null
  processed_at: Date | null
  not_shown: Generated<number>
}

/** ops.webhook_subscription */
export interface OpsWebhookSubscriptionTable {
  rooftop_id: number
  event: string
  subscription_id: number
  url: string
  header_hash: Buffer
  applied_at: Generated<Date>
  since: Date
}

/** ops.window_certificate */
export interface OpsWindowCertificateTable {
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
}

/** pii.app_user_email */
export interface PiiAppUserEmailTable {
  user_id: number
  group_id: number
  email: string
}

/** pii.archived_pdf */
export interface PiiArchivedPdfTable {
  rooftop_id: number
  eval_id: number
  link_kind: string
  link_ref: string
  sha256: Buffer
  byte_count: number
  archived_at: Generated<Date>
}

/** pii.erasure */
export interface PiiErasureTable {
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
export interface PiiErasureFileTable {
  sha256: Buffer
  noted_at: Generated<Date>
}

/** pii.erasure_secret */
export interface PiiErasureSecretTable {
  is_only: Generated<boolean>
  secret: Buffer
}

/** pii.evaluation_customer */
export interface PiiEvaluationCustomerTable {
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
export interface PiiSignedLinkTable {
  rooftop_id: number
  eval_id: number
  link_kind: string
  link_ref: string
  url: string
  signed_at: Date
  expires_at: Date
}

/** pii.suppressed_contact */
export interface PiiSuppressedContactTable {
  digest: Buffer
  kind: string
  erasure_id: number
  suppressed_at: Generated<Date>
}

/** pii.suppressed_evaluation */
export interface PiiSuppressedEvaluationTable {
  group_id: number
  eval_id: number
  scope: string
  erasure_id: number
  suppressed_at: Generated<Date>
  digests: Buffer[]
  phrase_words: number[]
}

/** raw.payload */
export interface RawPayloadTable {
  rooftop_id: number
  endpoint: string
  natural_key: string
  fetched_at: Date
  content_hash: Buffer
  body: unknown
  run_id: number
}

/** raw.payload_json */
export interface RawPayloadJsonTable {
  rooftop_id: number | null
  endpoint: string | null
  natural_key: string | null
  fetched_at: Date | null
  content_hash: Buffer | null
  body: unknown
  run_id: number | null
}

/** Every table and view by its full name. */
export interface Tables {
  'core.agg_appraisal': CoreAggAppraisalTable
  'core.agg_evaluation_day': CoreAggEvaluationDayTable
  'core.agg_pricing_day': CoreAggPricingDayTable
  'core.agg_recon_day': CoreAggReconDayTable
  'core.agg_repeat_vehicle': CoreAggRepeatVehicleTable
  'core.app_user': CoreAppUserTable
  'core.app_user_rooftop': CoreAppUserRooftopTable
  'core.custom_field_value': CoreCustomFieldValueTable
  'core.dim_date': CoreDimDateTable
  'core.evaluation': CoreEvaluationTable
  'core.evaluation_version': CoreEvaluationVersionTable
  'core.newest_fact': CoreNewestFactTable
  'core.photo': CorePhotoTable
  'core.price_insight': CorePriceInsightTable
  'core.price_observation': CorePriceObservationTable
  'core.reconditioning_item': CoreReconditioningItemTable
  'core.ref_watch_status': CoreRefWatchStatusTable
  'core.rooftop': CoreRooftopTable
  'core.rooftop_group': CoreRooftopGroupTable
  'core.stock_asking_price': CoreStockAskingPriceTable
  'core.stock_evaluation': CoreStockEvaluationTable
  'core.stock_import': CoreStockImportTable
  'core.stock_import_row': CoreStockImportRowTable
  'core.stock_market_price': CoreStockMarketPriceTable
  'core.stock_outcome': CoreStockOutcomeTable
  'core.stock_price_observation': CoreStockPriceObservationTable
  'core.stock_unit': CoreStockUnitTable
  'core.stock_unit_change': CoreStockUnitChangeTable
  'core.stream_at_work': CoreStreamAtWorkTable
  'core.stream_status': CoreStreamStatusTable
  'core.user_price': CoreUserPriceTable
  'core.vehicle_check': CoreVehicleCheckTable
  'core.vehicle_decode': CoreVehicleDecodeTable
  'core.watch_status_change': CoreWatchStatusChangeTable
  'ops.alert': OpsAlertTable
  'ops.alert_message': OpsAlertMessageTable
  'ops.bi_access': OpsBiAccessTable
  'ops.bi_login': OpsBiLoginTable
  'ops.billable_call': OpsBillableCallTable
  'ops.certified_ids': OpsCertifiedIdsTable
  'ops.console_action': OpsConsoleActionTable
  'ops.console_link': OpsConsoleLinkTable
  'ops.console_session': OpsConsoleSessionTable
  'ops.console_try': OpsConsoleTryTable
  'ops.coverage': OpsCoverageTable
  'ops.data_quality': OpsDataQualityTable
  'ops.enrichment_state': OpsEnrichmentStateTable
  'ops.field_drift': OpsFieldDriftTable
  'ops.job': OpsJobTable
  'ops.job_fire': OpsJobFireTable
  'ops.mart_source': OpsMartSourceTable
  'ops.mart_version': OpsMartVersionTable
  'ops.parked': OpsParkedTable
  'ops.price_batch': OpsPriceBatchTable
  'ops.price_batch_size': OpsPriceBatchSizeTable
  'ops.price_batch_unit': OpsPriceBatchUnitTable
  'ops.quarantine': OpsQuarantineTable
  'ops.rate_budget': OpsRateBudgetTable
  'ops.rate_member': OpsRateMemberTable
  'ops.run': OpsRunTable
  'ops.run_pace': OpsRunPaceTable
  'ops.run_stream': OpsRunStreamTable
  'ops.schema_migration': OpsSchemaMigrationTable
  'ops.stock_inbox': OpsStockInboxTable
  'ops.stock_inbox_file': OpsStockInboxFileTable
  'ops.stock_inbox_part': OpsStockInboxPartTable
  'ops.stock_mapping': OpsStockMappingTable
  'ops.stock_upload': OpsStockUploadTable
  'ops.stream_state': OpsStreamStateTable
  'ops.unlisted_record': OpsUnlistedRecordTable
  'ops.vanished': OpsVanishedTable
  'ops.verification': OpsVerificationTable
  'ops.webhook_delivery': OpsWebhookDeliveryTable
  'ops.webhook_subscription': OpsWebhookSubscriptionTable
  'ops.window_certificate': OpsWindowCertificateTable
  'pii.app_user_email': PiiAppUserEmailTable
  'pii.archived_pdf': PiiArchivedPdfTable
  'pii.erasure': PiiErasureTable
  'pii.erasure_file': PiiErasureFileTable
  'pii.erasure_secret': PiiErasureSecretTable
  'pii.evaluation_customer': PiiEvaluationCustomerTable
  'pii.signed_link': PiiSignedLinkTable
  'pii.suppressed_contact': PiiSuppressedContactTable
  'pii.suppressed_evaluation': PiiSuppressedEvaluationTable
  'raw.payload': RawPayloadTable
  'raw.payload_json': RawPayloadJsonTable
}

/** A column as Postgres declares it, e.g. `bigint`, `character varying(40)`, `text[]`. */
export interface ColumnType {
  readonly name: string
  readonly type: string
  /** Postgres makes the value: an identity or a generated column. */
  readonly generated?: true
}

/** The columns of every table and view, in the order of the table. */
export const columns: Readonly<Record<string, readonly ColumnType[]>> = {
  'core.agg_appraisal': [
    { name: 'group_id', type: 'integer' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'completed_date_local', type: 'date' },
    { name: 'month_start', type: 'date' },
    { name: 'user_id', type: 'bigint' },
    { name: 'vehicle_vin', type: 'character varying(17)' },
    { name: 'make', type: 'character varying(120)' },
    { name: 'model', type: 'character varying(200)' },
    { name: 'model_year', type: 'integer' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'photo_count', type: 'integer' },
    { name: 'hero_source', type: 'character varying(20)' },
    { name: 'ttc_bucket', type: 'integer' },
    { name: 'appraised_price', type: 'numeric(15,3)' },
    { name: 'recon_total', type: 'numeric(15,3)' },
    { name: 'recon', type: 'core.recon_cost[]' },
    { name: 'price_outcome', type: 'character varying(20)' },
    { name: 'wholesale_first', type: 'numeric(15,3)' },
    { name: 'retail_first', type: 'numeric(15,3)' },
    { name: 'wholesale_now', type: 'numeric(15,3)' },
    { name: 'retail_now', type: 'numeric(15,3)' },
    { name: 'gap_to_wholesale_first', type: 'numeric(18,3)' },
    { name: 'gap_share', type: 'numeric(7,4)' },
    { name: 'gross_room_first', type: 'numeric(18,3)' },
    { name: 'gross_room_now', type: 'numeric(18,3)' },
  ],
  'core.agg_evaluation_day': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'completed_date_local', type: 'date' },
    { name: 'user_id', type: 'bigint' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'appraisals', type: 'integer' },
    { name: 'with_price', type: 'integer' },
    { name: 'value_sum', type: 'numeric(24,3)' },
    { name: 'photos', type: 'integer' },
    { name: 'no_photo', type: 'integer' },
    { name: 'under_eight', type: 'integer' },
    { name: 'hero_default', type: 'integer' },
    { name: 'hero_missing', type: 'integer' },
    { name: 'complete', type: 'integer' },
    { name: 'timed', type: 'integer' },
    { name: 'ttc_bucket_0', type: 'integer' },
    { name: 'ttc_bucket_1', type: 'integer' },
    { name: 'ttc_bucket_2', type: 'integer' },
    { name: 'ttc_bucket_3', type: 'integer' },
    { name: 'ttc_bucket_4', type: 'integer' },
    { name: 'ttc_bucket_5', type: 'integer' },
    { name: 'ttc_bucket_6', type: 'integer' },
    { name: 'ttc_bucket_7', type: 'integer' },
    { name: 'ttc_bucket_8', type: 'integer' },
    { name: 'ttc_bucket_9', type: 'integer' },
    { name: 'ttc_bucket_10', type: 'integer' },
    { name: 'ttc_bucket_11', type: 'integer' },
  ],
  'core.agg_pricing_day': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'completed_date_local', type: 'date' },
    { name: 'known', type: 'integer' },
    { name: 'priced', type: 'integer' },
    { name: 'cannot_be_priced', type: 'integer' },
    { name: 'failed', type: 'integer' },
  ],
  'core.agg_recon_day': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'completed_date_local', type: 'date' },
    { name: 'recon_type', type: 'character varying(120)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'evaluations', type: 'integer' },
    { name: 'first_cost', type: 'numeric(24,3)' },
    { name: 'last_cost', type: 'numeric(24,3)' },
  ],
  'core.agg_repeat_vehicle': [
    { name: 'group_id', type: 'integer' },
    { name: 'vin', type: 'character varying(17)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'evaluations', type: 'integer' },
    { name: 'rooftops', type: 'integer' },
    { name: 'first_on', type: 'date' },
    { name: 'last_on', type: 'date' },
    { name: 'lowest_price', type: 'numeric(15,3)' },
    { name: 'highest_price', type: 'numeric(15,3)' },
  ],
  'core.app_user': [
    { name: 'user_id', type: 'bigint', generated: true },
    { name: 'group_id', type: 'integer' },
    { name: 'display_name', type: 'character varying(200)' },
    { name: 'is_generated_link_account', type: 'boolean' },
    { name: 'is_active', type: 'boolean' },
    { name: 'in_user_list', type: 'boolean' },
    { name: 'first_seen_at', type: 'timestamp with time zone' },
    { name: 'last_changed_at', type: 'timestamp with time zone' },
  ],
  'core.app_user_rooftop': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'user_id', type: 'bigint' },
    { name: 'is_active', type: 'boolean' },
  ],
  'core.custom_field_value': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'field_name', type: 'character varying(200)' },
    { name: 'field_type', type: 'character varying(120)' },
    { name: 'value_text', type: 'text' },
  ],
  'core.dim_date': [
    { name: 'date_day', type: 'date' },
    { name: 'year', type: 'smallint' },
    { name: 'quarter', type: 'smallint' },
    { name: 'month', type: 'smallint' },
    { name: 'month_start', type: 'date' },
    { name: 'month_label', type: 'character varying(8)' },
    { name: 'iso_year', type: 'smallint' },
    { name: 'iso_week', type: 'smallint' },
    { name: 'iso_dow', type: 'smallint' },
    { name: 'day_name', type: 'character varying(9)' },
    { name: 'is_weekend', type: 'boolean' },
    { name: 'au_fiscal_year', type: 'smallint' },
  ],
  'core.evaluation': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'group_id', type: 'integer' },
    { name: 'vin', type: 'character varying(32)' },
    { name: 'make', type: 'character varying(120)' },
    { name: 'model', type: 'character varying(200)' },
    { name: 'variant', type: 'character varying(255)' },
    { name: 'model_year', type: 'integer' },
    { name: 'registration_state', type: 'character varying(10)' },
    { name: 'colour', type: 'character varying(120)' },
    { name: 'user_id', type: 'bigint' },
    { name: 'entry_at', type: 'timestamp with time zone' },
    { name: 'created_at', type: 'timestamp with time zone' },
    { name: 'created_at_source', type: 'character varying(10)' },
    { name: 'completed_at', type: 'timestamp with time zone' },
    { name: 'source_updated_at', type: 'timestamp with time zone' },
    { name: 'created_date_local', type: 'date' },
    { name: 'completed_date_local', type: 'date' },
    { name: 'odometer', type: 'integer' },
    { name: 'odometer_unit', type: 'character(2)' },
    { name: 'odometer_km', type: 'integer', generated: true },
    { name: 'condition_score', type: 'smallint' },
    { name: 'final_price', type: 'numeric(15,3)' },
    { name: 'recon_total', type: 'numeric(15,3)' },
    { name: 'recon_line_total', type: 'numeric(15,3)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'photo_count', type: 'integer' },
    { name: 'hero_source', type: 'character varying(20)' },
    { name: 'user_price_count', type: 'integer' },
    { name: 'customer_state', type: 'character varying(20)' },
    { name: 'customer_postcode', type: 'character varying(20)' },
    { name: 'version_no', type: 'integer' },
    { name: 'content_hash', type: 'bytea' },
    { name: 'first_loaded_at', type: 'timestamp with time zone' },
    { name: 'last_changed_at', type: 'timestamp with time zone' },
    { name: 'gone_at', type: 'timestamp with time zone' },
    { name: 'run_id', type: 'bigint' },
    { name: 'vehicle_vin', type: 'character varying(17)', generated: true },
  ],
  'core.evaluation_version': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'version_no', type: 'integer' },
    { name: 'valid_from', type: 'timestamp with time zone' },
    { name: 'valid_to', type: 'timestamp with time zone' },
    { name: 'observed_at', type: 'timestamp with time zone' },
    { name: 'changed_fields', type: 'text[]' },
    { name: 'final_price', type: 'numeric(15,3)' },
    { name: 'recon_total', type: 'numeric(15,3)' },
    { name: 'user_id', type: 'bigint' },
    { name: 'odometer', type: 'integer' },
    { name: 'condition_score', type: 'smallint' },
    { name: 'content_hash', type: 'bytea' },
    { name: 'run_id', type: 'bigint' },
  ],
  'core.newest_fact': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'newest_fact_at', type: 'timestamp with time zone' },
  ],
  'core.photo': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'photo_id', type: 'bigint' },
    { name: 'display_position', type: 'integer' },
    { name: 'supplied_order', type: 'integer' },
    { name: 'is_hero', type: 'boolean' },
    { name: 'hero_source', type: 'character varying(20)' },
    { name: 'angle', type: 'character varying(120)' },
    { name: 'first_seen_at', type: 'timestamp with time zone' },
    { name: 'removed_at', type: 'timestamp with time zone' },
  ],
  'core.price_insight': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'price_source', type: 'character varying(24)' },
    { name: 'observed_at', type: 'timestamp with time zone' },
    { name: 'audience', type: 'character varying(12)' },
    { name: 'position', type: 'integer' },
    { name: 'insight', type: 'text' },
  ],
  'core.price_observation': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'price_source', type: 'character varying(24)' },
    { name: 'observed_at', type: 'timestamp with time zone' },
    { name: 'last_confirmed_at', type: 'timestamp with time zone' },
    { name: 'is_current', type: 'boolean' },
    { name: 'as_of_date', type: 'date' },
    { name: 'retail', type: 'numeric(15,3)' },
    { name: 'wholesale', type: 'numeric(15,3)' },
    { name: 'wholesale_low', type: 'numeric(15,3)' },
    { name: 'wholesale_high', type: 'numeric(15,3)' },
    { name: 'buy_to_retail', type: 'numeric(15,3)' },
    { name: 'quick_sale', type: 'numeric(15,3)' },
    { name: 'sweet_spot', type: 'numeric(15,3)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'confidence', type: 'character varying(40)' },
    { name: 'reasoning_status', type: 'character varying(12)' },
    { name: 'value_hash', type: 'bytea' },
    { name: 'run_id', type: 'bigint' },
  ],
  'core.reconditioning_item': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'first_version', type: 'integer' },
    { name: 'line_no', type: 'integer' },
    { name: 'last_version', type: 'integer' },
    { name: 'recon_type', type: 'character varying(120)' },
    { name: 'source', type: 'character varying(120)' },
    { name: 'cost', type: 'numeric(15,3)' },
    { name: 'value_text', type: 'character varying(1000)' },
    { name: 'battery_soh_pct', type: 'numeric(5,2)' },
  ],
  'core.ref_watch_status': [
    { name: 'watch_status', type: 'character varying(40)' },
    { name: 'noteworthiness', type: 'smallint' },
    { name: 'is_terminal', type: 'boolean' },
    { name: 'is_known', type: 'boolean' },
  ],
  'core.rooftop': [
    { name: 'rooftop_id', type: 'integer', generated: true },
    { name: 'rooftop_uid', type: 'character varying(64)' },
    { name: 'dealer_id', type: 'bigint' },
    { name: 'group_id', type: 'integer' },
    { name: 'rooftop_name', type: 'character varying(200)' },
    { name: 'region', type: 'character varying(3)' },
    { name: 'time_zone', type: 'character varying(64)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'odometer_unit', type: 'character(2)' },
    { name: 'previous_time_zone', type: 'character varying(64)' },
    { name: 'time_zone_changed_at', type: 'timestamp with time zone' },
  ],
  'core.rooftop_group': [
    { name: 'group_id', type: 'integer', generated: true },
    { name: 'group_code', type: 'character varying(130)' },
  ],
  'core.stock_asking_price': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'asking_price_first', type: 'numeric(15,3)' },
    { name: 'asking_price_now', type: 'numeric(15,3)' },
    { name: 'price_changes', type: 'integer' },
  ],
  'core.stock_evaluation': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'eval_rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'completed_at', type: 'timestamp with time zone' },
    { name: 'match_rule', type: 'character varying(20)' },
  ],
  'core.stock_import': [
    { name: 'import_id', type: 'bigint', generated: true },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'file_name', type: 'character varying(255)' },
    { name: 'sha256', type: 'bytea' },
    { name: 'byte_count', type: 'bigint' },
    { name: 'mode', type: 'character varying(10)' },
    { name: 'encoding', type: 'character varying(40)' },
    { name: 'delimiter', type: 'character varying(4)' },
    { name: 'dialect', type: 'jsonb' },
    { name: 'preamble', type: 'jsonb' },
    { name: 'header', type: 'jsonb' },
    { name: 'mapping', type: 'jsonb' },
    { name: 'warnings', type: 'jsonb' },
    { name: 'records', type: 'integer' },
    { name: 'accepted', type: 'integer' },
    { name: 'rejected', type: 'integer' },
    { name: 'collapsed', type: 'integer' },
    { name: 'skipped', type: 'integer' },
    { name: 'added', type: 'integer' },
    { name: 'updated', type: 'integer' },
    { name: 'unchanged', type: 'integer' },
    { name: 'removed', type: 'integer' },
    { name: 'reappeared', type: 'integer' },
    { name: 'imported_by', type: 'character varying(120)' },
    { name: 'imported_at', type: 'timestamp with time zone' },
  ],
  'core.stock_import_row': [
    { name: 'import_id', type: 'bigint' },
    { name: 'line_no', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'status', type: 'character varying(12)' },
    { name: 'issues', type: 'jsonb' },
    { name: 'cells', type: 'jsonb' },
  ],
  'core.stock_market_price': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'retail', type: 'numeric(15,3)' },
    { name: 'retail_low', type: 'numeric(15,3)' },
    { name: 'retail_high', type: 'numeric(15,3)' },
    { name: 'wholesale', type: 'numeric(15,3)' },
    { name: 'wholesale_low', type: 'numeric(15,3)' },
    { name: 'wholesale_high', type: 'numeric(15,3)' },
    { name: 'price_currency', type: 'character(3)' },
    { name: 'priced_at', type: 'timestamp with time zone' },
    { name: 'not_priced_reason', type: 'character varying(255)' },
  ],
  'core.stock_outcome': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'eval_rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'acquired_on', type: 'date' },
    { name: 'match_rule', type: 'character varying(20)' },
  ],
  'core.stock_price_observation': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'price_source', type: 'character varying(24)' },
    { name: 'observed_at', type: 'timestamp with time zone' },
    { name: 'last_confirmed_at', type: 'timestamp with time zone' },
    { name: 'is_current', type: 'boolean' },
    { name: 'vin', type: 'character varying(40)' },
    { name: 'retail', type: 'numeric(15,3)' },
    { name: 'retail_low', type: 'numeric(15,3)' },
    { name: 'retail_high', type: 'numeric(15,3)' },
    { name: 'wholesale', type: 'numeric(15,3)' },
    { name: 'wholesale_low', type: 'numeric(15,3)' },
    { name: 'wholesale_high', type: 'numeric(15,3)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'error', type: 'character varying(200)' },
    { name: 'value_hash', type: 'bytea' },
    { name: 'run_id', type: 'bigint' },
  ],
  'core.stock_unit': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'vin', type: 'character varying(40)' },
    { name: 'adcode', type: 'character varying(40)' },
    { name: 'plate', type: 'character varying(40)' },
    { name: 'make', type: 'character varying(120)' },
    { name: 'model', type: 'character varying(200)' },
    { name: 'variant', type: 'character varying(255)' },
    { name: 'model_year', type: 'integer' },
    { name: 'odometer_km', type: 'integer' },
    { name: 'asking_price', type: 'numeric(15,3)' },
    { name: 'cost', type: 'numeric(15,3)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'price_on_application', type: 'boolean' },
    { name: 'acquired_on', type: 'date' },
    { name: 'extras', type: 'jsonb' },
    { name: 'content_hash', type: 'bytea' },
    { name: 'first_seen_at', type: 'timestamp with time zone' },
    { name: 'last_seen_at', type: 'timestamp with time zone' },
    { name: 'missing_since', type: 'timestamp with time zone' },
    { name: 'off_stock_at', type: 'timestamp with time zone' },
    { name: 'import_id', type: 'bigint' },
  ],
  'core.stock_unit_change': [
    { name: 'import_id', type: 'bigint' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'change', type: 'character varying(12)' },
    { name: 'changes', type: 'jsonb' },
  ],
  'core.stream_at_work': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'held', type: 'tstzmultirange' },
  ],
  'core.stream_status': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'last_status', type: 'character varying(12)' },
    { name: 'last_error', type: 'text' },
    { name: 'last_attempt_at', type: 'timestamp with time zone' },
    { name: 'clock_offset', type: 'interval' },
    { name: 'last_good_run_at', type: 'timestamp with time zone' },
    { name: 'covered', type: 'tstzrange' },
    { name: 'open_gaps', type: 'integer' },
    { name: 'unprovable', type: 'bigint' },
    { name: 'quarantined', type: 'integer' },
    { name: 'vanished', type: 'integer' },
    { name: 'is_at_work', type: 'boolean' },
    { name: 'read_to', type: 'timestamp with time zone' },
  ],
  'core.user_price': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'position', type: 'integer' },
    { name: 'amount', type: 'numeric(15,3)' },
    { name: 'currency_code', type: 'character(3)' },
    { name: 'body', type: 'jsonb' },
  ],
  'core.vehicle_check': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'check_kind', type: 'character varying(12)' },
    { name: 'check_ref', type: 'character varying(80)' },
    { name: 'group_id', type: 'integer' },
    { name: 'vin', type: 'character varying(40)' },
    { name: 'searched_at', type: 'timestamp with time zone' },
    { name: 'search_number', type: 'character varying(80)' },
    { name: 'certificate_number', type: 'character varying(80)' },
    { name: 'security_interest_count', type: 'integer' },
    { name: 'written_off_count', type: 'integer' },
    { name: 'stolen_count', type: 'integer' },
    { name: 'watch_status', type: 'character varying(40)' },
    { name: 'watch_status_since', type: 'timestamp with time zone' },
    { name: 'watch_ends_at', type: 'timestamp with time zone' },
    { name: 'first_seen_at', type: 'timestamp with time zone' },
    { name: 'gone_at', type: 'timestamp with time zone' },
    { name: 'run_id', type: 'bigint' },
  ],
  'core.vehicle_decode': [
    { name: 'vin', type: 'character(17)' },
    { name: 'operation', type: 'character varying(40)' },
    { name: 'adcode', type: 'character varying(40)' },
    { name: 'outcome', type: 'character varying(12)' },
    { name: 'decoded_at', type: 'timestamp with time zone' },
    { name: 'make', type: 'character varying(120)' },
    { name: 'model', type: 'character varying(120)' },
  ],
  'core.watch_status_change': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'check_kind', type: 'character varying(12)' },
    { name: 'check_ref', type: 'character varying(80)' },
    { name: 'observed_at', type: 'timestamp with time zone' },
    { name: 'from_status', type: 'character varying(40)' },
    { name: 'to_status', type: 'character varying(40)' },
  ],
  'ops.alert': [
    { name: 'alert_id', type: 'bigint', generated: true },
    { name: 'alert_key', type: 'character varying(120)' },
    { name: 'detail', type: 'character varying(1000)' },
    { name: 'raised_at', type: 'timestamp with time zone' },
    { name: 'told_at', type: 'timestamp with time zone' },
    { name: 'resolved_at', type: 'timestamp with time zone' },
  ],
  'ops.alert_message': [
    { name: 'message_id', type: 'uuid' },
    { name: 'target', type: 'character varying(40)' },
    { name: 'recipient', type: 'character varying(320)' },
    { name: 'kind', type: 'character varying(8)' },
    { name: 'alert_id', type: 'bigint' },
    { name: 'day', type: 'date' },
    { name: 'severity', type: 'character varying(8)' },
    { name: 'detail', type: 'character varying(2000)' },
    { name: 'made_at', type: 'timestamp with time zone' },
    { name: 'attempts', type: 'integer' },
    { name: 'tried_at', type: 'timestamp with time zone' },
    { name: 'retry_at', type: 'timestamp with time zone' },
    { name: 'paused_until', type: 'timestamp with time zone' },
    { name: 'sent_at', type: 'timestamp with time zone' },
    { name: 'error', type: 'character varying(300)' },
  ],
  'ops.bi_access': [
    { name: 'role_name', type: 'character varying(63)' },
    { name: 'group_code', type: 'character varying(130)' },
  ],
  'ops.bi_login': [
    { name: 'role_name', type: 'character varying(63)' },
    { name: 'member_of', type: 'character varying(63)' },
    { name: 'granted_at', type: 'timestamp with time zone' },
  ],
  'ops.billable_call': [
    { name: 'call_id', type: 'bigint', generated: true },
    { name: 'operation', type: 'character varying(40)' },
    { name: 'budget', type: 'character varying(40)' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'natural_key', type: 'character varying(64)' },
    { name: 'day', type: 'date' },
    { name: 'state', type: 'character varying(12)' },
    { name: 'at', type: 'timestamp with time zone' },
    { name: 'settled_at', type: 'timestamp with time zone' },
    { name: 'http_status', type: 'integer' },
    { name: 'requested_by', type: 'character varying(120)' },
    { name: 'note', type: 'character varying(400)' },
    { name: 'check_ref', type: 'character varying(80)' },
    { name: 'known_refs', type: 'character varying(80)[]' },
    { name: 'source_at', type: 'timestamp with time zone' },
    { name: 'shown_at', type: 'timestamp with time zone' },
  ],
  'ops.certified_ids': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'window_from', type: 'timestamp with time zone' },
    { name: 'owner_id', type: 'integer' },
    { name: 'outcome', type: 'character varying(12)' },
    { name: 'ids', type: 'bigint[]' },
  ],
  'ops.console_action': [
    { name: 'action_id', type: 'bigint', generated: true },
    { name: 'at', type: 'timestamp with time zone' },
    { name: 'email', type: 'character varying(320)' },
    { name: 'role', type: 'character varying(10)' },
    { name: 'action', type: 'character varying(40)' },
    { name: 'target', type: 'jsonb' },
    { name: 'shown_count', type: 'integer' },
    { name: 'outcome', type: 'character varying(12)' },
    { name: 'message', type: 'character varying(400)' },
    { name: 'run_id', type: 'bigint' },
  ],
  'ops.console_link': [
    { name: 'token_hash', type: 'bytea' },
    { name: 'email', type: 'character varying(320)' },
    { name: 'made_at', type: 'timestamp with time zone' },
    { name: 'ends_at', type: 'timestamp with time zone' },
  ],
  'ops.console_session': [
    { name: 'token_hash', type: 'bytea' },
    { name: 'email', type: 'character varying(320)' },
    { name: 'started_at', type: 'timestamp with time zone' },
    { name: 'seen_at', type: 'timestamp with time zone' },
    { name: 'ends_at', type: 'timestamp with time zone' },
    { name: 'user_agent', type: 'character varying(400)' },
  ],
  'ops.console_try': [
    { name: 'address', type: 'character varying(64)' },
    { name: 'tried_at', type: 'timestamp with time zone' },
    { name: 'method', type: 'character varying(4)' },
  ],
  'ops.coverage': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'covered', type: 'tstzmultirange' },
    { name: 'wanted', type: 'tstzmultirange' },
  ],
  'ops.data_quality': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'natural_key', type: 'character varying(80)' },
    { name: 'check_name', type: 'character varying(40)' },
    { name: 'detail', type: 'character varying(300)' },
    { name: 'run_id', type: 'bigint' },
    { name: 'seen_at', type: 'timestamp with time zone' },
  ],
  'ops.enrichment_state': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'next_due_at', type: 'timestamp with time zone' },
    { name: 'last_asked_at', type: 'timestamp with time zone' },
    { name: 'polling_since', type: 'timestamp with time zone' },
    { name: 'failures', type: 'integer' },
    { name: 'outcome', type: 'character varying(12)' },
    { name: 'detail', type: 'character varying(400)' },
    { name: 'ask', type: 'character varying(40)' },
  ],
  'ops.field_drift': [
    { name: 'stream', type: 'character varying(40)' },
    { name: 'json_path', type: 'character varying(300)' },
    { name: 'json_type', type: 'character varying(10)' },
    { name: 'classification', type: 'character varying(12)' },
    { name: 'first_seen_at', type: 'timestamp with time zone' },
    { name: 'last_seen_at', type: 'timestamp with time zone' },
    { name: 'seen', type: 'bigint' },
  ],
  'ops.job': [
    { name: 'job_name', type: 'character varying(30)' },
    { name: 'schedule', type: 'character varying(120)' },
    { name: 'time_zone', type: 'character varying(60)' },
    { name: 'known_since', type: 'timestamp with time zone' },
  ],
  'ops.job_fire': [
    { name: 'fire_id', type: 'bigint', generated: true },
    { name: 'job_name', type: 'character varying(30)' },
    { name: 'cause', type: 'character varying(8)' },
    { name: 'slot_at', type: 'timestamp with time zone' },
    { name: 'status', type: 'character varying(8)' },
    { name: 'attempt', type: 'integer' },
    { name: 'made_up', type: 'boolean' },
    { name: 'claimed_at', type: 'timestamp with time zone' },
    { name: 'heartbeat_at', type: 'timestamp with time zone' },
    { name: 'finished_at', type: 'timestamp with time zone' },
    { name: 'host', type: 'character varying(120)' },
    { name: 'process_id', type: 'integer' },
    { name: 'run_ids', type: 'bigint[]' },
    { name: 'error', type: 'text' },
  ],
  'ops.mart_source': [
    { name: 'reader', type: 'name' },
    { name: 'source_schema', type: 'name' },
    { name: 'source_name', type: 'name' },
    { name: 'source_oid', type: 'oid' },
    { name: 'source_kind', type: '"char"' },
    { name: 'is_direct', type: 'boolean' },
  ],
  'ops.mart_version': [
    { name: 'version', type: 'character varying(20)' },
    { name: 'checksum', type: 'character varying(64)' },
    { name: 'built_at', type: 'timestamp with time zone' },
  ],
  'ops.parked': [
    { name: 'key_name', type: 'character varying(120)' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'until', type: 'timestamp with time zone' },
    { name: 'reason', type: 'character varying(400)' },
  ],
  'ops.price_batch': [
    { name: 'batch_no', type: 'bigint', generated: true },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'run_id', type: 'bigint' },
    { name: 'state', type: 'character varying(12)' },
    { name: 'batch_id', type: 'character varying(200)' },
    { name: 'units', type: 'integer' },
    { name: 'percent', type: 'numeric(6,2)' },
    { name: 'submitted_at', type: 'timestamp with time zone' },
    { name: 'progressed_at', type: 'timestamp with time zone' },
    { name: 'finished_at', type: 'timestamp with time zone' },
    { name: 'detail', type: 'character varying(400)' },
  ],
  'ops.price_batch_size': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'size', type: 'integer' },
    { name: 'learned_at', type: 'timestamp with time zone' },
  ],
  'ops.price_batch_unit': [
    { name: 'batch_no', type: 'bigint' },
    { name: 'stock_no', type: 'character varying(80)' },
    { name: 'vin', type: 'character varying(40)' },
    { name: 'adcode', type: 'character varying(40)' },
    { name: 'odometer_km', type: 'integer' },
    { name: 'outcome', type: 'character varying(12)' },
  ],
  'ops.quarantine': [
    { name: 'quarantine_id', type: 'bigint', generated: true },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'natural_key', type: 'character varying(80)' },
    { name: 'issues', type: 'jsonb' },
    { name: 'payload', type: 'text' },
    { name: 'attempts', type: 'integer' },
    { name: 'window_from', type: 'timestamp with time zone' },
    { name: 'window_until', type: 'timestamp with time zone' },
    { name: 'run_id', type: 'bigint' },
    { name: 'first_seen_at', type: 'timestamp with time zone' },
    { name: 'last_seen_at', type: 'timestamp with time zone' },
    { name: 'resolved_at', type: 'timestamp with time zone' },
  ],
  'ops.rate_budget': [
    { name: 'key_name', type: 'text' },
    { name: 'rate', type: 'double precision' },
    { name: 'next_at', type: 'timestamp with time zone' },
    { name: 'blocked_until', type: 'timestamp with time zone' },
    { name: 'throttled_at', type: 'timestamp with time zone' },
    { name: 'state', type: 'jsonb' },
  ],
  'ops.rate_member': [
    { name: 'key_name', type: 'text' },
    { name: 'member_id', type: 'uuid' },
    { name: 'host', type: 'character varying(120)' },
    { name: 'process_id', type: 'integer' },
    { name: 'demand', type: 'integer' },
    { name: 'in_flight', type: 'integer' },
    { name: 'seen_at', type: 'timestamp with time zone' },
  ],
  'ops.run': [
    { name: 'run_id', type: 'bigint', generated: true },
    { name: 'command', type: 'character varying(40)' },
    { name: 'arguments', type: 'jsonb' },
    { name: 'status', type: 'character varying(12)' },
    { name: 'started_at', type: 'timestamp with time zone' },
    { name: 'finished_at', type: 'timestamp with time zone' },
    { name: 'source_started_at', type: 'timestamp with time zone' },
    { name: 'fence', type: 'bigint' },
    { name: 'host', type: 'character varying(120)' },
    { name: 'process_id', type: 'integer' },
    { name: 'lane', type: 'character varying(10)' },
    { name: 'is_detached', type: 'boolean' },
    { name: 'resumes', type: 'bigint' },
    { name: 'heartbeat_at', type: 'timestamp with time zone' },
  ],
  'ops.run_pace': [
    { name: 'run_id', type: 'bigint' },
    { name: 'minute_at', type: 'timestamp with time zone' },
    { name: 'windows', type: 'integer' },
    { name: 'loaded', type: 'integer' },
  ],
  'ops.run_stream': [
    { name: 'run_id', type: 'bigint' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'status', type: 'character varying(12)' },
    { name: 'error', type: 'text' },
    { name: 'listed', type: 'integer' },
    { name: 'hydrated', type: 'integer' },
    { name: 'inserted', type: 'integer' },
    { name: 'updated', type: 'integer' },
    { name: 'unchanged', type: 'integer' },
    { name: 'quarantined', type: 'integer' },
    { name: 'vanished', type: 'integer' },
    { name: 'windows', type: 'integer' },
    { name: 'requests', type: 'integer' },
    { name: 'retries', type: 'integer' },
    { name: 'finished_at', type: 'timestamp with time zone' },
    { name: 'saved', type: 'integer' },
    { name: 'not_before', type: 'timestamp with time zone' },
    { name: 'began_at', type: 'timestamp with time zone' },
  ],
  'ops.schema_migration': [
    { name: 'version', type: 'integer' },
    { name: 'name', type: 'text' },
    { name: 'checksum', type: 'text' },
    { name: 'applied_at', type: 'timestamp with time zone' },
  ],
  'ops.stock_inbox': [
    { name: 'inbox', type: 'character varying(1200)' },
    { name: 'known_since', type: 'timestamp with time zone' },
    { name: 'checked_at', type: 'timestamp with time zone' },
    { name: 'arrived_at', type: 'timestamp with time zone' },
    { name: 'problem', type: 'character varying(1000)' },
    { name: 'problem_since', type: 'timestamp with time zone' },
  ],
  'ops.stock_inbox_file': [
    { name: 'file_id', type: 'bigint', generated: true },
    { name: 'inbox', type: 'character varying(1200)' },
    { name: 'folder_id', type: 'uuid' },
    { name: 'name_bytes', type: 'bytea' },
    { name: 'file_name', type: 'character varying(300)' },
    { name: 'state', type: 'character varying(10)' },
    { name: 'byte_count', type: 'bigint' },
    { name: 'modified_ns', type: 'numeric(30,0)' },
    { name: 'seen_at', type: 'timestamp with time zone' },
    { name: 'unchanged_since', type: 'timestamp with time zone' },
    { name: 'taken_as', type: 'character varying(300)' },
    { name: 'taken_at', type: 'timestamp with time zone' },
    { name: 'attempts', type: 'integer' },
    { name: 'reason', type: 'text' },
    { name: 'ended_at', type: 'timestamp with time zone' },
    { name: 'cleared_at', type: 'timestamp with time zone' },
    { name: 'alert_key', type: 'character varying(120)' },
  ],
  'ops.stock_inbox_part': [
    { name: 'file_id', type: 'bigint' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'sha256', type: 'bytea' },
    { name: 'outcome', type: 'character varying(20)' },
    { name: 'import_id', type: 'bigint' },
    { name: 'reason', type: 'text' },
    { name: 'command', type: 'text' },
    { name: 'decided_at', type: 'timestamp with time zone' },
  ],
  'ops.stock_mapping': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'fingerprint', type: 'character varying(64)' },
    { name: 'columns', type: 'jsonb' },
    { name: 'confirmed_at', type: 'timestamp with time zone' },
    { name: 'absent', type: 'jsonb' },
  ],
  'ops.stock_upload': [
    { name: 'upload_id', type: 'uuid' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'email', type: 'character varying(320)' },
    { name: 'file_name', type: 'character varying(120)' },
    { name: 'sha256', type: 'bytea' },
    { name: 'byte_count', type: 'integer' },
    { name: 'content', type: 'bytea' },
    { name: 'options', type: 'jsonb' },
    { name: 'result', type: 'jsonb' },
    { name: 'newest_import_id', type: 'bigint' },
    { name: 'corrects_import_id', type: 'bigint' },
    { name: 'import_began_at', type: 'timestamp with time zone' },
    { name: 'import_id', type: 'bigint' },
    { name: 'made_at', type: 'timestamp with time zone' },
    { name: 'ends_at', type: 'timestamp with time zone' },
    { name: 'inbox_file_id', type: 'bigint' },
  ],
  'ops.stream_state': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'largest_answer', type: 'integer' },
    { name: 'list_cap', type: 'integer' },
    { name: 'state', type: 'jsonb' },
  ],
  'ops.unlisted_record': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'record_id', type: 'bigint' },
    { name: 'entry_at', type: 'timestamp with time zone' },
  ],
  'ops.vanished': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'natural_key', type: 'character varying(80)' },
    { name: 'reason', type: 'character varying(12)' },
    { name: 'vanished_at', type: 'timestamp with time zone' },
    { name: 'run_id', type: 'bigint' },
  ],
  'ops.verification': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'verified_at', type: 'timestamp with time zone' },
    { name: 'fault', type: 'character varying(400)' },
    { name: 'fault_since', type: 'timestamp with time zone' },
  ],
  'ops.webhook_delivery': [
    { name: 'delivery_id', type: 'bigint', generated: true },
    { name: 'event', type: 'character varying(20)' },
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'body_hash', type: 'bytea' },
    { name: 'body', type: 'json' },
    { name: 'state', type: 'character varying(10)' },
    { name: 'issue', type: 'character varying(400)' },
    { name: 'source_event_at', type: 'timestamp with time zone' },
    { name: 'source_updated_at', type: 'timestamp with time zone' },
    { name: 'source_received_at', type: 'timestamp with time zone' },
    { name: 'received_at', type: 'timestamp with time zone' },
    { name: 'duplicates', type: 'integer' },
    { name: 'attempts', type: 'integer' },
    { name: 'due_at', type: 'timestamp with time zone' },
    { name: 'run_id', type: 'bigint' },
    { name: 'outcome', type: 'character varying(11)' },
    { name: 'processed_at', type: 'timestamp with time zone' },
    { name: 'not_shown', type: 'integer' },
  ],
  'ops.webhook_subscription': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'event', type: 'character varying(20)' },
    { name: 'subscription_id', type: 'bigint' },
    { name: 'url', type: 'character varying(2000)' },
    { name: 'header_hash', type: 'bytea' },
    { name: 'applied_at', type: 'timestamp with time zone' },
    { name: 'since', type: 'timestamp with time zone' },
  ],
  'ops.window_certificate': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'stream', type: 'character varying(40)' },
    { name: 'window_from', type: 'timestamp with time zone' },
    { name: 'window_until', type: 'timestamp with time zone' },
    { name: 'listed_at', type: 'timestamp with time zone' },
    { name: 'reread_at', type: 'timestamp with time zone' },
    { name: 'listed', type: 'integer' },
    { name: 'loaded', type: 'integer' },
    { name: 'quarantined', type: 'integer' },
    { name: 'vanished', type: 'integer' },
    { name: 'least_entry_at', type: 'timestamp with time zone' },
    { name: 'greatest_entry_at', type: 'timestamp with time zone' },
    { name: 'ids_digest', type: 'bytea' },
    { name: 'settled', type: 'boolean' },
    { name: 'proof', type: 'character varying(12)' },
    { name: 'run_id', type: 'bigint' },
    { name: 'malformed', type: 'integer' },
  ],
  'pii.app_user_email': [
    { name: 'user_id', type: 'bigint' },
    { name: 'group_id', type: 'integer' },
    { name: 'email', type: 'character varying(320)' },
  ],
  'pii.archived_pdf': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'link_kind', type: 'character varying(20)' },
    { name: 'link_ref', type: 'character varying(80)' },
    { name: 'sha256', type: 'bytea' },
    { name: 'byte_count', type: 'integer' },
    { name: 'archived_at', type: 'timestamp with time zone' },
  ],
  'pii.erasure': [
    { name: 'erasure_id', type: 'bigint', generated: true },
    { name: 'subject_kind', type: 'character varying(10)' },
    { name: 'subject_masked', type: 'character varying(120)' },
    { name: 'reason', type: 'character varying(400)' },
    { name: 'requested_by', type: 'character varying(120)' },
    { name: 'requested_at', type: 'timestamp with time zone' },
    { name: 'done_at', type: 'timestamp with time zone' },
    { name: 'receipt', type: 'jsonb' },
  ],
  'pii.erasure_file': [
    { name: 'sha256', type: 'bytea' },
    { name: 'noted_at', type: 'timestamp with time zone' },
  ],
  'pii.erasure_secret': [
    { name: 'is_only', type: 'boolean' },
    { name: 'secret', type: 'bytea' },
  ],
  'pii.evaluation_customer': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'customer_name', type: 'character varying(300)' },
    { name: 'phone', type: 'character varying(60)' },
    { name: 'email', type: 'character varying(320)' },
    { name: 'address', type: 'character varying(500)' },
    { name: 'suburb', type: 'character varying(200)' },
    { name: 'registration_plate', type: 'character varying(30)' },
    { name: 'notes', type: 'text' },
    { name: 'erased_at', type: 'timestamp with time zone' },
  ],
  'pii.signed_link': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'link_kind', type: 'character varying(20)' },
    { name: 'link_ref', type: 'character varying(80)' },
    { name: 'url', type: 'text' },
    { name: 'signed_at', type: 'timestamp with time zone' },
    { name: 'expires_at', type: 'timestamp with time zone' },
  ],
  'pii.suppressed_contact': [
    { name: 'digest', type: 'bytea' },
    { name: 'kind', type: 'character varying(10)' },
    { name: 'erasure_id', type: 'bigint' },
    { name: 'suppressed_at', type: 'timestamp with time zone' },
  ],
  'pii.suppressed_evaluation': [
    { name: 'group_id', type: 'integer' },
    { name: 'eval_id', type: 'bigint' },
    { name: 'scope', type: 'character varying(10)' },
    { name: 'erasure_id', type: 'bigint' },
    { name: 'suppressed_at', type: 'timestamp with time zone' },
    { name: 'digests', type: 'bytea[]' },
    { name: 'phrase_words', type: 'smallint[]' },
  ],
  'raw.payload': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'endpoint', type: 'character varying(40)' },
    { name: 'natural_key', type: 'character varying(80)' },
    { name: 'fetched_at', type: 'timestamp with time zone' },
    { name: 'content_hash', type: 'bytea' },
    { name: 'body', type: 'json' },
    { name: 'run_id', type: 'bigint' },
  ],
  'raw.payload_json': [
    { name: 'rooftop_id', type: 'integer' },
    { name: 'endpoint', type: 'character varying(40)' },
    { name: 'natural_key', type: 'character varying(80)' },
    { name: 'fetched_at', type: 'timestamp with time zone' },
    { name: 'content_hash', type: 'bytea' },
    { name: 'body', type: 'json' },
    { name: 'run_id', type: 'bigint' },
  ],
}

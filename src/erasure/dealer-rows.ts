import type { Hit } from './scan.ts'

const tables = [
  'core.app_user',
  'pii.app_user_email',
  'core.rooftop',
  'core.rooftop_group',
  'ops.bi_access',
]

/** Whether a row names salespeople or rooftops of the dealer. It stays, even if a customer has the same name. */
export function isDealerRow({ table, texts }: Hit): boolean {
  if (tables.includes(table.name)) return true
  const endpoint = table.columns.findIndex(({ name }) => name === 'endpoint')
  return table.name === 'raw.payload' && texts[endpoint] === 'getuserlist'
}

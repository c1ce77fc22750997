import type { Hit } from './scan.ts'

const tables = [
  'core.app_user',
  'pii.app_user_email',
  'core.rooftop',
  'core.rooftop_group',
  'ops.bi_access',
]

/** A row that names the dealers' own people and places: salespeople and rooftops. It is theirs, whoever is called the same. */
export function isDealerRow({ table, texts }: Hit): boolean {
  if (tables.includes(table.name)) return true
  const endpoint = table.columns.findIndex(({ name }) => name === 'endpoint')
  return table.name === 'raw.payload' && texts[endpoint] === 'getuserlist'
}

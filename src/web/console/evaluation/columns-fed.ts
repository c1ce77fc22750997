import type { AppraisalWire } from '../../../values/wire.ts'

/** Columns of core.evaluation by the field of the answer, where the documents name it. */
const documented: Readonly<Record<string, string>> = {
  ...{ VIN: 'vin', FinalPrice: 'final_price', Reconditioning: 'recon_total' },
  ...{ CreatedAt: 'created_at', CompletedAt: 'completed_at', EntryDate: 'entry_at' },
  ...{ UpdatedAt: 'source_updated_at', UserEmail: 'user_id' },
}

/** Columns of core.evaluation by the setting that names their field. */
const configured = {
  ...{ make: 'make', model: 'model', variant: 'variant', year: 'model_year', colour: 'colour' },
  ...{ odometer: 'odometer', condition: 'condition_score', dealerId: 'rooftop_id' },
  ...{ registrationState: 'registration_state' },
  ...{ customerState: 'customer_state', customerPostcode: 'customer_postcode' },
} as const satisfies Partial<Record<keyof AppraisalWire['evaluation'], string>>

/** The same of pii.evaluation_customer. */
const ofCustomer = {
  ...{ customerName: 'customer_name', customerPhone: 'phone', customerEmail: 'email' },
  ...{ customerAddress: 'address', customerSuburb: 'suburb', notes: 'notes' },
  registration: 'registration_plate',
} as const satisfies Partial<Record<keyof AppraisalWire['evaluation'], string>>

const lists: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  Photos: [
    'core.photo',
    {
      ...{ id: 'photo_id', order: 'supplied_order', hero: 'is_hero', heroSource: 'hero_source' },
      angle: 'angle',
    },
  ],
  reconditioning_list: [
    'core.reconditioning_item',
    { type: 'recon_type', source: 'source', cost: 'cost', value: 'value_text' },
  ],
  customFields: ['core.custom_field_value', {}],
  UserPrices: ['core.user_price', {}],
}

/** The column that a field of an evaluation feeds, or the table of its list; null: it is in the payload alone. */
export function columnFedBy(field: string, { evaluation: names }: AppraisalWire): string | null {
  const [top = '', ...rest] = field.split('.')
  if (Object.hasOwn(documented, field)) return `core.evaluation.${documented[field]}`
  for (const [setting, column] of Object.entries(configured))
    if ([names[setting as keyof typeof configured]].flat().includes(field))
      return `core.evaluation.${column}`
  for (const [setting, column] of Object.entries(ofCustomer))
    if ([names[setting as keyof typeof ofCustomer]].flat().includes(field))
      return `pii.evaluation_customer.${column}`
  if (!Object.hasOwn(lists, top)) return null
  const [table, columns] = lists[top]!
  const part = rest.join('.')
  if (part === '' || Object.keys(columns).length === 0) return table
  return Object.hasOwn(columns, part) ? `${table}.${columns[part]}` : null
}

import type { z } from 'zod'
import { issueText } from '../contract/issue-text.ts'
import type { Operation } from '../contract/operation.ts'
import type { Endpoint } from './call.ts'
import { Refusal } from './refusal.ts'

/** Schemas that ignore unknown fields, as a service does; each is made once. */
const lenient = new WeakMap<Operation, z.ZodObject>()

/** The fields in the shape of the operation. Refusal names every invalid field, with 400 or the status that the endpoint has for
 *  the field. */
export function validFields(
  { operation, invalid }: Endpoint,
  fields: unknown,
): Record<string, unknown> {
  const result = schemaOf(operation).safeParse(fields)
  if (result.success) return result.data
  const { issues } = result.error
  const status = issues.map(({ path }) => invalid[String(path[0])]).find((one) => one !== undefined)
  const texts = issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issueText(issue)}`)
  throw new Refusal(status ?? 400, texts.join('; '))
}

function schemaOf(operation: Operation): z.ZodObject {
  const known = lenient.get(operation)
  if (known) return known
  const schema = operation.fields.strip()
  lenient.set(operation, schema)
  return schema
}

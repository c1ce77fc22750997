import { z } from 'zod'
import { jsonValue } from '../../values/json-value.ts'

// Fields that several operations share, with the limits of the documents.

/** The identifier of an evaluation [A §2]. */
export const evalid = z.int().positive().describe('EvalID of the evaluation')

/** 17 characters; the check digit is not validated [A §8]. */
export const vin17 = z.string().length(17).describe('17-character VIN')

/** 2-3 uppercase letters, no spaces or periods [A §8]. */
export const state = z
  .string()
  .regex(/^[A-Z]{2,3}$/, 'has to be 2-3 uppercase letters')
  .describe('state of the plate: 2-3 uppercase letters, no spaces or periods')

/** A string that holds a JSON array of dealership ids [A §4]. */
export const dealerIds = z
  .string()
  .refine(holdsIds, 'has to be a string that holds a JSON array of dealership ids')
  .describe('JSON array of dealership ids, e.g. "[101,102]"')

/** ISO-8601 with a zone designator. The document says UTC with Z [A §2]; an offset is understood too. */
export const instant = z.iso.datetime({ offset: true })

/** Unix seconds UTC [A §4]. */
export const unixSeconds = z.int()

function holdsIds(text: string): boolean {
  return z.array(z.int()).safeParse(jsonValue(text)).success
}

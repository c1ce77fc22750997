import type { FastifyRequest } from 'fastify'
import type { Config } from '../../app/config/read.ts'
import { storable } from '../../values/text.ts'
import type { Person } from './access/people.ts'
import type { AnyPage, UploadedFile } from './page.ts'
import { Slots } from './slots.ts'

/** The fields of a query string, a form or a path; of a name that is there twice, the first value. A character that Postgres cannot
 *  hold becomes one that is in no name. */
export function firstValues(values: unknown): Record<string, string> {
  const entries = Object.entries((values ?? {}) as Record<string, unknown>)
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const first: unknown = Array.isArray(value) ? value[0] : value
      return typeof first === 'string' ? [[name, storable(first)]] : []
    }),
  )
}

/** A file that is not taken; the message says why. */
export class UploadRefused extends Error {}

/** Files that one process reads at once, because they are in memory until they are stored; of them those of a person, and those of
 *  the people of a dealer group. */
const uploadLimits = { all: 6, perGroup: 3, perPerson: 2 }
const slots = new Slots()

/** The fields and the file of a form. UploadRefused when the file is too large, or when too many arrive. */
export async function readForm(
  request: FastifyRequest,
  { takesFile }: AnyPage,
  person: Person,
  config: Config,
): Promise<{ readonly form: Record<string, string>; readonly file: UploadedFile | null }> {
  if (takesFile !== true || !request.isMultipart())
    return { form: firstValues(request.body), file: null }
  const groups = config.rooftops.filter(({ uid }) => person.rooftops?.includes(uid))
  const free = slots.take({
    all: uploadLimits.all,
    [`person ${person.email}`]: uploadLimits.perPerson,
    ...Object.fromEntries(groups.map(({ group }) => [`group ${group}`, uploadLimits.perGroup])),
  })
  if (free === null)
    throw new UploadRefused('Several lists are being uploaded now. Try again in a minute.')
  try {
    return await readParts(request, config.console!.uploadMegabytes)
  } finally {
    free()
  }
}

async function readParts(request: FastifyRequest, megabytes: number) {
  const fileSize = megabytes * 1024 * 1024
  const limits = { fileSize, fieldSize: fileSize, files: 1, fields: 20, parts: 21 }
  const form: Record<string, string> = {}
  let file: UploadedFile | null = null
  let isTooLarge = false
  // The rest of a file that is too large is read too, and dropped: a browser shows no answer before it has sent everything.
  for await (const part of request.parts({ limits })) {
    if (part.type === 'file') {
      const content = await readContent(part.file, fileSize)
      isTooLarge ||= content === null
      if (content !== null && content.length > 0) file = { name: part.filename, content }
    } else if (typeof part.value === 'string') {
      isTooLarge ||= part.valueTruncated
      form[part.fieldname] ??= part.value
    }
  }
  if (!isTooLarge) return { form, file }
  throw new UploadRefused(
    `The list is larger than ${megabytes} MB: nothing was stored. Leave out columns with photos or long texts, or split it and import the parts as changes.`,
  )
}

/** null: too large. */
async function readContent(
  stream: AsyncIterable<Buffer> & { readonly truncated: boolean },
  most: number,
): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size <= most) chunks.push(chunk)
  }
  return stream.truncated || size > most ? null : Buffer.concat(chunks)
}

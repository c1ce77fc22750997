import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Answer } from '../../api/learn/answers.ts'
import { type RecordedBy, readRecording } from '../../api/learn/recorded.ts'
import { errorText, UsageError } from '../../errors.ts'
import { plural } from '../../values/text.ts'
import type { Config } from '../config/read.ts'

/** A larger file is not a recording of a few answers. */
const maxBytes = 200_000_000

/** The answers in recorded files, or in the files of folders; `from` says in words what they are. */
export function readFiles(
  paths: readonly string[],
  config: Config,
): { readonly answers: readonly Answer[]; readonly from: string } {
  const { appraisal, vehicleData, rooftops, wire } = config
  const by: RecordedBy = {
    addresses: { appraisal: appraisal.baseUrl, vehicleData: vehicleData.baseUrl },
    ...{ rooftops, wire },
  }
  const recordings = paths.flatMap(filesAt).map((file) => {
    try {
      if (statSync(file).size > maxBytes) throw new Error('it has more than 200 MB')
      return readRecording(basename(file), readFileSync(file, 'utf8'), by)
    } catch (cause) {
      // The message of a syntax error quotes the text, which may name a customer.
      const why = cause instanceof SyntaxError ? 'it is not JSON' : errorText(cause)
      throw new UsageError(
        `${file} cannot be read: ${why}.`,
        cause instanceof SyntaxError ? {} : { cause },
      )
    }
  })
  const answers = recordings.flatMap((one) => one.answers)
  const ignored = recordings.reduce((sum, one) => sum + one.ignored, 0)
  const others =
    ignored === 0 ? '' : ` (${plural(ignored, 'entry', 'entries')} of no documented call ignored)`
  return { answers, from: `${plural(answers.length, 'recorded answer')}${others}` }
}

function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    return readdirSync(path)
      .filter((name) => /\.(json|har)$/i.test(name))
      .sort()
      .map((name) => join(path, name))
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${errorText(cause)}.`, { cause })
  }
}

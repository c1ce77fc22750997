import type { Config } from '../../app/config/read.ts'
import { errorText, UsageError } from '../../errors.ts'
import { readOwnFile } from '../import/list-source.ts'
import { offeredDays, StockUploads } from '../upload/stock-uploads.ts'
import type { FileOutcome } from './file-outcome.ts'
import type { FileWork } from './import-file.ts'
import type { Inbox } from './inbox.ts'
import type { FilePlan } from './plan-parts.ts'

/**
 * Puts a refused file where a person of the console confirms its columns, and gives the id of the upload. null: there is no console, the
 * file has rows of several rooftops or is larger than an upload, it is not a list, or the config no longer gives it to the rooftop that it was
 * refused for. The file is in failed/ in any case.
 */
export async function offerUpload(
  { services, inbox, isConfigured, file }: FileWork,
  { parts }: FileOutcome,
  plan: FilePlan | null | undefined,
  path: string,
): Promise<string | null> {
  const { console } = services.warehouse.config
  const { rooftop } = inbox
  if (console === null || rooftop === null || !isConfigured || file.reason !== null) return null
  // The config may have changed since the file was refused.
  const refused = parts.find(({ uid }) => uid === rooftop.uid)?.result ?? null
  if (refused === null || refused.refusals[0]!.is === 'unreadable') return null
  if (Number(file.bytes) > console.uploadMegabytes * 1024 ** 2) return null
  try {
    const uploads = new StockUploads(services)
    const { id, result } = await uploads.add({
      ...{ inboxFileId: file.id, rooftop: rooftop.uid, email: 'drop folder', fileName: file.name },
      ...{ content: await readOwnFile(path), mode: refused.mode },
      ...{ sheet: inbox.sheet, checked: plan?.checked ?? null },
    })
    if (result.state !== 'same') return id
    await uploads.drop(id)
    return null
  } catch (error) {
    if (error instanceof UsageError) return null
    // The report names the command and the page of uploads instead.
    services.log.warn(
      { file: file.name, err: error },
      `${file.name} was not put into the console: ${errorText(error)}`,
    )
    return null
  }
}

/** What a person does in the console about a file of the inbox, as the end of a sentence; null: there is no console, or it would take
 *  all rows of several rooftops. Without a query, which every message hides since signed links have theirs in it. */
export function consoleStep(
  { console }: Config,
  { rooftop }: Pick<Inbox, 'rooftop'>,
  uploadId: string | null,
): string | null {
  if (console === null || rooftop === null) return null
  const page = `${console.publicUrl}/console/stock/upload`
  return uploadId === null
    ? `upload it at ${page}`
    : `open it within ${offeredDays} days at ${page}/${uploadId}/mapping`
}

import { z } from 'zod'
import { isOwnFile, type Partition } from './files.ts'
import { type LakeTarget, TargetError } from './target.ts'

/** Names the files of the last complete state: it is stored last. */
const manifestName = 'manifest.json'
/** The claim of an export that has not ended, with the files it has stored. Readers skip names that begin with an underscore. */
const progressName = '_progress.json'

const count = z.int().nonnegative()
const file = z.object({
  path: z.string().refine(isOwnFile),
  rooftop: z.int().nullable(),
  month: z.string().nullable(),
  rows: count,
  bytes: count,
  sha256: z.string(),
  digest: z.string(),
})
const column = z.object({ name: z.string(), type: z.string() })
const table = z.object({
  rows: count,
  monthOf: z.string().nullable(),
  columns: z.array(column),
  files: z.array(file),
})
const superseded = z.object({ path: z.string().refine(isOwnFile), since: z.string() })
const manifest = z.object({
  format: z.literal(1),
  /** Only this warehouse may replace the manifest. */
  warehouse: z.string(),
  startedAt: z.string(),
  finishedAt: z.string(),
  martVersion: z.string(),
  coveredTo: z.string().nullable(),
  rooftops: z.record(z.string(), z.record(z.string(), z.string().nullable())),
  /** The number of the last erasure in the snapshot; 0: none. */
  lastErasure: count,
  rows: count,
  bytes: count,
  tables: z.record(z.string(), table),
  /** Files of earlier states that readers may still be reading. */
  superseded: z.array(superseded),
})
const progress = z.object({
  warehouse: z.string(),
  tables: z.record(z.string(), z.array(file)),
})

/** A stored file with the rows that it has. */
export type LakeFile = Readonly<z.infer<typeof file>> & Partition
/** The files of one table. */
export type ManifestTable = Readonly<z.infer<typeof table>>
/** A complete state of the lake. */
export type Manifest = Readonly<z.infer<typeof manifest>>

/** The last complete state; null: there is none yet. */
export async function readManifest(target: LakeTarget): Promise<Manifest | null> {
  const text = await target.read(manifestName)
  if (text === null) return null
  const parsed = manifest.safeParse(jsonOf(text))
  if (parsed.success) return parsed.data
  throw new TargetError(
    `${target.name}/${manifestName} is not a manifest of this version`,
    'name another folder or prefix, or remove the file to export everything again',
  )
}

/** Publishes a complete state. */
export async function writeManifest(target: LakeTarget, state: Manifest): Promise<void> {
  await target.putText(manifestName, `${JSON.stringify(state, null, 1)}\n`)
}

/** The files that an export has stored, by table. */
export type StoredFiles = ReadonlyMap<string, readonly LakeFile[]>

/**
 * Claims a lake before anything is written to it: the locks of two warehouses do not see each other. Returns the local folder
 * for files that are being made, and the files that an unfinished export of this warehouse has stored. TargetError when the lake belongs to another warehouse.
 */
export async function claimLake(
  target: LakeTarget,
  warehouse: string,
  last: Manifest | null,
): Promise<{ readonly scratch: string; readonly earlier: StoredFiles }> {
  if (last !== null && last.warehouse !== warehouse)
    throw new TargetError(
      `${target.name} is the lake of another warehouse (${last.warehouse}; this one is ${warehouse})`,
      `name another folder or prefix, or remove ${manifestName} if that warehouse has moved here`,
    )
  const earlier = await readProgress(target)
  assertOwn(target, warehouse, earlier)
  const scratch = await target.prepare()
  await target.putText(progressName, progressText(warehouse, earlier?.tables ?? {}))
  await assertClaim(target, warehouse)
  return { scratch, earlier: new Map(Object.entries(earlier?.tables ?? {})) }
}

/** Records stored files, so that the next export does not make them again if this one is killed. TargetError as `assertClaim`. */
export async function writeProgress(
  target: LakeTarget,
  warehouse: string,
  tables: StoredFiles,
): Promise<void> {
  await assertClaim(target, warehouse)
  await target.putText(progressName, progressText(warehouse, Object.fromEntries(tables)))
}

/** TargetError when another warehouse has claimed the lake at the same moment, or someone has removed the claim. */
export async function assertClaim(target: LakeTarget, warehouse: string): Promise<void> {
  const found = await readProgress(target)
  assertOwn(target, warehouse, found)
  if (found === null)
    throw new TargetError(
      `${target.name}/${progressName} was removed during the export`,
      'leave the files of an export alone',
    )
}

/** Removes the claim and the record of an unfinished export. */
export async function removeProgress(target: LakeTarget): Promise<void> {
  await target.remove(progressName)
}

type Progress = Readonly<z.infer<typeof progress>>

/** Null: there is none, or none that can be read. Then its files are made again. */
async function readProgress(target: LakeTarget): Promise<Progress | null> {
  const parsed = progress.safeParse(jsonOf((await target.read(progressName)) ?? ''))
  return parsed.success ? parsed.data : null
}

function progressText(
  warehouse: string,
  tables: Progress['tables'] | Record<string, readonly LakeFile[]>,
): string {
  return JSON.stringify({ warehouse, tables })
}

function assertOwn({ name }: LakeTarget, warehouse: string, found: Progress | null): void {
  if (found === null || found.warehouse === warehouse) return
  throw new TargetError(
    `Another warehouse (${found.warehouse}; this one is ${warehouse}) has started an export to ${name}`,
    `name another folder or prefix, or remove ${progressName} if that export will not run again`,
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

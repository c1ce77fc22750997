import { isOwnFile } from './files.ts'
import type { Manifest } from './manifest.ts'
import type { LakeTarget } from './target.ts'
import { Tasks } from './tasks.ts'

const removalsAtOnce = 8

/**
 * The files of the last states that this state no longer names and that readers of their manifests may still need: replaced
 * less than `keepHours` ago. None once a customer was erased, whose text they may have.
 */
export function supersededFiles(
  last: Manifest | null,
  state: Pick<Manifest, 'tables' | 'lastErasure' | 'finishedAt'>,
  keepHours: number,
): Manifest['superseded'] {
  if (last === null || last.lastErasure !== state.lastErasure) return []
  const named = new Set(pathsOf(state))
  const replaced = pathsOf(last).map((path) => ({ path, since: state.finishedAt }))
  const oldest = Date.parse(state.finishedAt) - keepHours * 3_600_000
  return [...last.superseded, ...replaced].filter(
    ({ path, since }) => !named.has(path) && Date.parse(since) > oldest,
  )
}

/** Removes what exports have written and the manifest does not name. Files of others are left alone. Returns the number. */
export async function removeUnnamed(
  target: LakeTarget,
  manifest: Manifest,
  crashPoint: (name: string) => void,
): Promise<number> {
  const named = new Set([...pathsOf(manifest), ...manifest.superseded.map(({ path }) => path)])
  const removals = new Tasks(removalsAtOnce)
  let removed = 0
  for (const path of (await target.list()).keys()) {
    if (named.has(path) || !isOwnFile(path)) continue
    await removals.add(async () => {
      await target.remove(path)
      removed += 1
      crashPoint('lake-file-removed')
    })
  }
  await removals.end()
  return removed
}

function pathsOf({ tables }: Pick<Manifest, 'tables'>): string[] {
  return Object.values(tables).flatMap(({ files }) => files.map(({ path }) => path))
}

import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The order of a run that begins with these files. If they began last, they would end long after everything else; by itself a new
 * clone begins with the largest files.
 */
export function slowFirst(slow: readonly string[]) {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const isSlow = ({ moduleId }: TestSpecification) =>
        slow.some((file) => moduleId.endsWith(`/${file}`))
      // One project after the other: each has workers of its own.
      return Map.groupBy(await super.sort(files), ({ project }) => project.name)
        .values()
        .flatMap((own) => own.toSorted((a, b) => Number(isSlow(b)) - Number(isSlow(a))))
        .toArray()
    }
  }
}

/** Whether every case runs (`npm run test:all`, as CI does), or those that fit into a few minutes (`npm test`). */
export const runsEveryCase = process.env['FORECOURT_TEST_ALL'] === '1'

/** The number of cases of a random test: `all` of them in CI, `few` in `npm test`, by default a tenth. */
export function caseCount(all: number, few = Math.ceil(all / 10)): number {
  return runsEveryCase ? all : few
}

/** All cases in CI; the first `few` of them in `npm test`, 0 where another file shows one. */
export function someOf<const T>(cases: readonly T[], few: number): readonly T[] {
  return runsEveryCase ? cases : cases.slice(0, few)
}

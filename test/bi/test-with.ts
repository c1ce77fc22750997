import { test } from 'vitest'
import { skipReason, type Tool } from './tools.ts'

/** A test of a tool. If the tool is missing, the test is skipped and its name says why. */
export function testWith(
  tool: Tool,
  name: string,
  run: () => Promise<void>,
  timeout = 180_000,
): void {
  const reason = skipReason(tool)
  if (reason === null) test(name, { timeout }, run)
  else test.skip(`${name} (skipped: ${reason})`, run)
}

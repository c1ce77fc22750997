import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { mutants } from './mutants.ts'

const script = fileURLToPath(new URL('run-mutants.ts', import.meta.url))

test('each rule of the learner that is switched off breaks a test of it', {
  tags: 'ci',
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script])

  const failed = JSON.parse(/^failed: (.*)$/m.exec(stdout)![1]!) as Record<string, number>
  const unnoticed = Object.keys(mutants).filter((name) => failed[name] === 0)
  expect(Object.keys(failed).sort()).toEqual(Object.keys(mutants).sort())
  expect(unnoticed).toEqual(['nothing changed'])
})

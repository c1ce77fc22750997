import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { forecourt } from '../../support/child.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

// Rejects a promise that nothing awaits once the program handles signals: an error of Postgres about a customer's row.
const preload = `
const timer = setInterval(() => {
  if (process.listenerCount('SIGTERM') === 0) return
  clearInterval(timer)
  const error = new Error('invalid input syntax for type integer: "Jane Citizen"')
  const detail = 'Failing row contains (1, jane@example.org).'
  Promise.reject(Object.assign(error, { code: '22P02', severity: 'ERROR', detail, where: '0412 345 678' }))
}, 5)`

test('an error that nothing catches ends the process with exit 1, and without the row that it is about', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'preload.mjs')
  await writeFile(file, preload)

  const node = ['--import', pathToFileURL(file).href]
  const { code, stderr } = await forecourt(['sandbox', '--port', '0'], { cwd: folder.path, node })

  expect(code).toBe(1)
  expect(stderr).toContain('invalid input syntax for type integer (SQLSTATE 22P02)')
  expect(stderr).toMatch(/^ {4}at /m)
  expect(stderr).not.toMatch(/jane|0412/i)
})

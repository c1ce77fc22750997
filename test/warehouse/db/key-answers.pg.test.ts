import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { KeyAnswerLog } from '#src/warehouse/db/key-answers.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
const logged: string[] = []
const log = openLog({
  ...{ level: 'debug', human: false, secrets: [] },
  write: (line: string) => void logged.push(line),
})

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(async () => {
  await database.pool.query('truncate ops.key_state')
})
afterAll(async () => await database[Symbol.asyncDispose]())

const use = { key: 'appraisal/au', rooftopUid: 'rooftop-1', operation: 'getevallist' }
const refusal = { status: 401, answer: 'answered 401: "Invalid API key"' }

async function stored() {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `select operation, refused_calls as calls, status, answer, good_at is not null as good, refused_since is not null as refused,
       refused_since <= refused_at as ordered from ops.key_state order by operation`,
  )
  return rows
}

test('a refusal is stored with its calls and its first time, and a good answer ends it', async () => {
  await using answers = new KeyAnswerLog(database.pool, log)
  answers.accepted(use)
  answers.refused(use, refusal)
  await answers.store()
  answers.refused(use, refusal)
  // Not sent, since the key was refused at other rooftops: no call, and what was answered stays.
  answers.refused(use, {})
  await answers.store()
  const refused = await stored()
  answers.accepted(use)
  await answers.store()

  const { status, answer } = refusal
  expect(refused).toEqual([
    {
      operation: use.operation,
      calls: 2,
      status,
      answer,
      good: true,
      refused: true,
      ordered: true,
    },
  ])
  expect(await stored()).toMatchObject([{ calls: 0, refused: false, good: true, answer: null }])
})

test('an answer to one operation says nothing about another', async () => {
  await using answers = new KeyAnswerLog(database.pool, log)
  answers.refused(use, refusal)
  answers.accepted({ ...use, operation: 'getuserlist' })
  await answers.store()

  expect(await stored()).toMatchObject([
    { operation: 'getevallist', refused: true },
    { operation: 'getuserlist', refused: false, good: true },
  ])
})

test('of two processes the last answer counts, whoever stores it first', async () => {
  await using old = new KeyAnswerLog(database.pool, log)
  await using corrected = new KeyAnswerLog(database.pool, log)
  old.refused(use, refusal)
  await new Promise((done) => setTimeout(done, 5))
  corrected.accepted(use)
  await corrected.store()
  await old.store()
  const good = await stored()
  old.refused(use, refusal)
  await old.store()

  expect(good).toMatchObject([{ refused: false, good: true }])
  expect(await stored()).toMatchObject([{ refused: true, good: true }])
})

test('a refusal of an operation that is not called any more ends a day after the key was accepted there', async () => {
  await using answers = new KeyAnswerLog(database.pool, log)
  answers.refused(use, refusal)
  answers.accepted({ ...use, operation: 'getuserlist' })
  await answers.store()
  const isRefused = async (uid: string) =>
    (await database.pool.query(`select ops.is_refused('appraisal/au', $1) as is`, [uid])).rows[0]!
      .is
  const before = [await isRefused('rooftop-1'), await isRefused('rooftop-2')]
  await database.pool.query(
    `update ops.key_state set refused_at = refused_at - interval '27 hours'`,
  )

  expect(before).toEqual([true, false])
  expect(await isRefused('rooftop-1')).toBe(false)
})

test('while Postgres refuses, answers wait, with one warning; later they are stored', async () => {
  await using answers = new KeyAnswerLog(database.pool, log)
  logged.length = 0
  await database.pool.query('alter table ops.key_state rename to key_state_away')
  answers.refused(use, refusal)
  await answers.store()
  answers.refused(use, refusal)
  await answers.store()
  await database.pool.query('alter table ops.key_state_away rename to key_state')
  answers.refused(use, refusal)
  await answers.store()

  expect(await stored()).toMatchObject([{ calls: 3, refused: true }])
  expect(logged.filter((line) => line.includes('cannot be stored'))).toHaveLength(1)
})

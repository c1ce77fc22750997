import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli as runArguments } from '#src/cli.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { CapturedOutput, runInProcess } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { now } from './sync-fixture.ts'

const customer = {
  name: 'Jane Citizen',
  phone: '0412 345 678',
  email: 'jane@example.org',
  address: '12 Station Street',
}

/** A warehouse with Jane's evaluation 1 and somebody's 2, for command lines in this process. */
async function openWarehouse(others: readonly ReturnType<typeof anEvaluation>[] = []) {
  const evaluations = [
    ...others,
    anEvaluation({ evalId: 1, createdAt: '2026-03-02T01:00:00Z', customer }),
    anEvaluation({ evalId: 2, createdAt: '2026-03-03T01:00:00Z' }),
  ]
  const sandbox = { world: worldOf({ evaluations }), now }
  const fixture = await openFixture({ sandbox, sync: { start: '2026-03-01' } })
  const folder = await temporaryFolder()
  const { url } = fixture.database
  const config = { ...fixture.sandbox.clientConfig(), warehouse: { url } }
  await writeFile(join(folder.path, 'forecourt.yaml'), JSON.stringify(config))
  await fixture.night()
  const run = (args: readonly string[]) => runInProcess(args, { cwd: folder.path })
  return {
    pool: fixture.database.pool,
    run,
    /** The same where both ends are a terminal. */
    async inTerminal(args: readonly string[]) {
      const isTTY = Object.getOwnPropertyDescriptor(process.stdin, 'isTTY')
      const stderr = Object.assign(new CapturedOutput(), { isTTY: true })
      Object.defineProperty(process.stdin, 'isTTY', { value: true, configurable: true })
      try {
        const code = await runArguments(args, {
          environment: { variables: {}, cwd: folder.path },
          signal: new AbortController().signal,
          stdout: new CapturedOutput(),
          stderr,
        })
        return { code, stderr: stderr.text }
      } finally {
        if (isTTY) Object.defineProperty(process.stdin, 'isTTY', isTTY)
        else Reflect.deleteProperty(process.stdin, 'isTTY')
      }
    },
    json: async (args: readonly string[]) => {
      const ran = await run([...args, '--json'])
      return { ...ran, document: JSON.parse(ran.stdout) as unknown }
    },
    [Symbol.asyncDispose]: async () => {
      await fixture[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('erase prints its receipt, and a second one finds nothing to do', async () => {
  await using warehouse = await openWarehouse()

  const dry = await warehouse.json(['erase', '--email', 'jane@example.org', '--dry-run'])
  const refused = await warehouse.run(['erase', '--email', 'jane@example.org'])
  const first = await warehouse.json(['erase', '--phone', '+61 412 345 678', '--yes'])
  const second = await warehouse.run(['erase', '--email', 'jane@example.org', '--yes'])

  expect(dry).toMatchObject({
    code: 0,
    document: { dryRun: true, erasureId: null, evaluations: [{ evalId: 1 }] },
  })
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') })
  expect(first).toMatchObject({
    code: 0,
    document: {
      dryRun: false,
      erasureId: expect.any(Number),
      subject: { kind: 'phone', masked: '***78' },
      evaluations: [{ rooftop: 'rooftop-1', evalId: 1 }],
      tables: { 'pii.evaluation_customer': 1, 'raw.payload': 1 },
      rescan: { left: {} },
    },
  })
  expect(second.code).toBe(0)
  expect(second.stdout).toContain(': email j***@e***')
  expect(second.stdout).toContain('It was erased before: erasure ')
  expect(second.stdout).toContain('No row had to change.')
  expect(second.stdout).toContain('nothing of the customer is left')
  const output = JSON.stringify([first, second, dry, refused])
  expect(output).not.toMatch(/jane@example|Citizen|345 678|Station/i)
})

test('a dry run says what the command would do, never what it did', async () => {
  await using warehouse = await openWarehouse()

  const { stdout } = await warehouse.run(['erase', '--email', 'jane@example.org', '--dry-run'])

  expect(stdout).toMatch(/^ +table +rows that would change$/m)
  expect(stdout).toMatch(/^It would add 1 evaluation and \d+ contacts to the suppression list; /m)
  expect(stdout).toMatch(/^Nothing of the customer would be left in the \d+ tables\.$/m)
  expect(stdout).toContain('Backups of the database made before that would still hold the customer')
  expect(stdout).not.toMatch(/ added; | is left|rows changed|Removed|Searched/)
})

test('a dry run of a phone that several people share begins with what the command would do', {
  tags: 'ci',
}, async () => {
  const bob = { ...customer, name: 'Bob Example', email: 'bob@example.org' }
  await using warehouse = await openWarehouse([
    anEvaluation({ evalId: 3, createdAt: '2026-03-04T01:00:00Z', customer: bob }),
  ])
  const line = ['erase', '--phone', '+61 412 345 678', '--dry-run']

  const one = await warehouse.run(line)
  const all = await warehouse.run([...line, '--all-people'])

  expect(one.stdout).toMatch(
    /^2 people share the phone \*\*\*78: this command would erase no one\. With --all-people it would do what follows;/,
  )
  expect(all.stdout).toMatch(
    /^Dry run: erasing phone \*\*\*78 would do this; nothing was changed\./,
  )
})

test('a phone that several people share is refused in a terminal without a question, with who they are', {
  tags: 'ci',
}, async () => {
  const bob = { ...customer, name: 'Bob Example', email: 'bob@example.org' }
  await using warehouse = await openWarehouse([
    anEvaluation({ evalId: 3, createdAt: '2026-03-04T01:00:00Z', customer: bob }),
  ])

  const { code, stderr } = await warehouse.inTerminal(['erase', '--phone', '+61 412 345 678'])

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /2 PEOPLE with different names have this phone:\n {2}1: 3 \(.+\)\n {2}2: 1 \(/,
  )
  expect(stderr).toMatch(/nothing was erased.*--eval <id>, or all with --all-people/)
  expect(stderr).not.toContain('Type "erase"')
  const { rows } = await warehouse.pool.query('select count(*)::int from pii.erasure')
  expect(rows).toEqual([{ count: 0 }])
})

test('data that is left is reported with exit 1', { tags: 'ci' }, async () => {
  await using warehouse = await openWarehouse()
  await warehouse.pool.query(
    `with made as (
       insert into core.app_user (group_id, is_generated_link_account, in_user_list)
       select group_id, false, true from core.rooftop returning user_id, group_id)
     insert into pii.app_user_email select user_id, group_id, 'jane@example.org' from made`,
  )

  const { code, stdout } = await warehouse.run(['erase', '--email', 'jane@example.org', '--yes'])

  expect(code).toBe(1)
  expect(stdout).toContain('STILL NAMED in pii.app_user_email (1)')
})

test('wrong usage is reported, and nothing is erased', async () => {
  await using warehouse = await openWarehouse()
  const lines = [
    ['--yes'],
    ['--email', 'a@b.c', '--phone', '0412345678', '--yes'],
    ['--email', 'jane', '--yes'],
    ['--phone', '123', '--yes'],
    ['--eval', 'x', '--yes'],
    ['--eval', '99', '--yes'],
    ['--eval', '1', '--rooftop', 'north', '--yes'],
    ['--email', 'a@b.c', '--rooftop', 'rooftop-1', '--yes'],
  ]

  const ended = []
  for (const line of lines) ended.push(await warehouse.run(['erase', ...line]))

  expect(ended.map(({ code }) => code)).toEqual(lines.map(() => 2))
  expect(ended.map(({ stderr }) => stderr.trim().split('\n').at(-1))).toMatchInlineSnapshot(`
    [
      "Name the customer to erase with one of --email, --phone and --eval.",
      "Name the customer to erase with one of --email, --phone and --eval.",
      "This is not an e-mail address: write it as the customer gave it, e.g. --email jane@example.org.",
      "This is not a phone number: write at least seven digits, e.g. --phone "0412 345 678".",
      ""x" is not an EvalID: write the whole number, e.g. "forecourt erase --eval 12345".",
      "Evaluation 99 is in no table: nothing was erased. "forecourt why 99" shows what the warehouse has of an evaluation.",
      "--rooftop north is not in the config or the warehouse; known are: Rooftop One (rooftop-1).",
      "--rooftop goes with --eval: --email erases at every rooftop.",
    ]
  `)
  const { rows } = await warehouse.pool.query('select from pii.erasure')
  expect(rows).toEqual([])
})

test('an EvalID of two dealer groups is erased at each rooftop that is named, also at one that has left the config', async () => {
  await using warehouse = await openWarehouse()
  const { rows } = await warehouse.pool.query<{ names: string }>(
    `select string_agg('e.' || attname, ', ') as names from pg_attribute
     where attrelid = 'core.evaluation'::regclass and attnum > 0 and attgenerated = '' and attname not in ('rooftop_id', 'group_id')`,
  )
  const { names } = rows[0]!
  await warehouse.pool.query(
    `with made as (insert into core.rooftop_group (group_code) values ('former') returning group_id)
     insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit, left_config_at)
     select 'former', made.group_id, 'Former', region, time_zone, currency_code, odometer_unit, now() from core.rooftop, made`,
  )
  await warehouse.pool.query(
    `insert into core.evaluation (rooftop_id, group_id, ${names.replaceAll('e.', '')})
     select r.rooftop_id, r.group_id, ${names} from core.evaluation as e join core.rooftop as r on rooftop_uid = 'former' where eval_id = 1`,
  )

  const { code, stderr } = await warehouse.run(['erase', '--eval', '1', '--yes'])
  const uids = /add --rooftop, one of ([^.]+)\./.exec(stderr)![1]!.split(', ')
  const codes = []
  for (const uid of uids)
    codes.push((await warehouse.run(['erase', '--eval', '1', '--rooftop', uid, '--yes'])).code)

  expect(code).toBe(2)
  expect(uids).toEqual(['former', 'rooftop-1'])
  expect(codes).toEqual([0, 0])
})

test('a contact that is not found is reported first, and is on the suppression list all the same', {
  tags: 'ci',
}, async () => {
  await using warehouse = await openWarehouse()

  const dry = await warehouse.run(['erase', '--email', 'nobody@example.org', '--dry-run'])
  const done = await warehouse.run(['erase', '--email', 'nobody@example.org', '--yes'])
  const again = await warehouse.json(['erase', '--email', 'nobody@example.org', '--yes'])

  expect(dry.code).toBe(0)
  expect(dry.stdout.split('\n')[0]).toMatch(/^NOT FOUND: .*it would be put on the suppression list/)
  expect(done.code).toBe(0)
  expect(done.stdout.split('\n')[0]).toMatch(
    /^NOT FOUND: no evaluation and no text of the warehouse has the email n\*\*\*@e\*\*\*; it is on the suppression list now\./,
  )
  expect(again).toMatchObject({
    code: 0,
    document: { matched: 0, people: [], erasedBefore: expect.any(Number) },
  })
})

import { expect } from 'vitest'
import type { ApiSession } from './api-session.ts'
import { at, instant, listAt, photos } from './patterns.ts'
import { expecting, post, type Send, table } from './row.ts'
import { change, complete, create, idOf, list, remove } from './webhooks.ts'
import { evals, now, sharedVin, who } from './world.ts'

const { one, two } = who

/** Subscribes the receiver of the session at a separate path. */
const subscribe =
  (event: string, type = 'eval', more: object = {}, by = one) =>
  async (session: ApiSession) => {
    const webhook = `${await session.receiver()}/${event}`
    await session.take(create({ type, trigger_event: event, webhook, ...more }, by))
  }
const update = (evalid: number, by = one): Send => post('/dcupdateeval', { evalid, km: 48_000 }, by)
/** Export is pressed in the app: there is no app, so a control of the sandbox presses it. */
const pressExport = (evalid: number): Send => post('/sandbox/export', { evalid })
const drive = (evalid: number): Send => post('/sandbox/drive', { evalid })

export const eventRows = table('A §6 events', [
  {
    says: 'ON_COMPLETE: fires when a new eval is finished',
    given: [subscribe('ON_COMPLETE')],
    send: update(evals.open),
    status: 200,
    check: async (_answer, session) =>
      expect(await session.delivered('/ON_COMPLETE')).toMatchObject([
        { method: 'POST', body: { EvalID: evals.open } },
      ]),
  },
  {
    says: 'ON_COMPLETE: a new eval: a later update does not fire it',
    given: [subscribe('ON_COMPLETE'), subscribe('ON_EXPORT'), update(evals.done)],
    send: pressExport(evals.done),
    status: 200,
    check: async (_answer, session) => {
      await session.delivered('/ON_EXPORT')
      expect(session.deliveries.map(({ path }) => path)).toEqual(['/ON_EXPORT'])
    },
  },
  {
    says: 'ON_EXPORT: fires when Export is pressed',
    given: [subscribe('ON_EXPORT')],
    send: pressExport(evals.done),
    status: 200,
    check: async (_answer, session) =>
      expect(await session.delivered('/ON_EXPORT')).toMatchObject([
        { body: { EvalID: evals.done } },
      ]),
  },
  {
    says: 'ON_DRIVE_COMPLETED: fires when a drive completes',
    given: [subscribe('ON_DRIVE_COMPLETED', 'drive')],
    send: drive(evals.done),
    status: 200,
    check: async (_answer, session) =>
      expect((await session.delivered('/ON_DRIVE_COMPLETED')).map(({ body }) => body)).toEqual([
        {
          DriveID: expect.any(Number),
          EvalID: evals.done,
          VIN: sharedVin,
          StartedAt: expect.stringMatching(/^2026-03-09T23:.*Z$/),
          CompletedAt: now,
          DistanceKm: expect.any(Number),
          UserName: 'Alex Example',
          UserEmail: 'alex@example.com',
          CustomerName: 'Pat Example',
        },
      ]),
  },
  ...['ON_SHARE_OFFER', 'ON_EXTERNAL_PRICE'].flatMap((event) => [
    {
      says: `${event}: cannot be created on this interface`,
      send: create({ ...complete, trigger_event: event }),
      status: 400,
      body: { error: expect.stringMatching(`${event}.*cannot be created`) },
    },
    {
      says: `${event}: nor by a change`,
      given: [create()],
      send: (session: ApiSession) => change(idOf(session), { trigger_event: event }),
      status: 400,
    },
  ]),
  {
    says: 'HTTPS POSTs to the registered URL: the method is POST, the body JSON',
    given: [subscribe('ON_COMPLETE')],
    send: update(evals.open),
    status: 200,
    check: async (_answer, session) => {
      const [delivery] = await session.delivered('/ON_COMPLETE')
      expect(delivery?.method).toBe('POST')
      expect(delivery?.headers['content-type']).toContain('application/json')
    },
  },
  {
    says: 'the optional custom auth header is sent as configured',
    given: [
      subscribe('ON_COMPLETE', 'eval', {
        auth_header_name: 'X-Hook-Key',
        auth_header_value: 'hush, hush',
      }),
    ],
    send: update(evals.open),
    status: 200,
    check: async (_answer, session) => {
      const [delivery] = await session.delivered('/ON_COMPLETE')
      expect(delivery?.headers['x-hook-key']).toBe('hush, hush')
    },
  },
  {
    says: 'without one, none is sent',
    given: [subscribe('ON_COMPLETE')],
    send: update(evals.open),
    status: 200,
    check: async (_answer, session) => {
      const [delivery] = await session.delivered('/ON_COMPLETE')
      expect(delivery?.headers).not.toHaveProperty('authorization')
    },
  },
  {
    says: 'the body is the same payload as /geteval (Evaluation)',
    given: [
      subscribe('ON_EXPORT'),
      pressExport(evals.done),
      async (session) => void (await session.delivered('/ON_EXPORT')),
    ],
    send: post('/geteval', { evalid: evals.done }),
    status: 200,
    check: ({ body }, session) => expect(session.deliveries[0]?.body).toEqual(listAt(body)[0]),
  },
  {
    says: 'the body of ON_COMPLETE too is the same payload as /geteval',
    given: [
      subscribe('ON_COMPLETE'),
      update(evals.open),
      async (session) => void (await session.delivered('/ON_COMPLETE')),
    ],
    send: post('/geteval', { evalid: evals.open }),
    status: 200,
    check: ({ body }, session) => expect(session.deliveries[0]?.body).toEqual(listAt(body)[0]),
  },
  {
    says: 'a changed subscription gets its new event',
    given: [
      subscribe('ON_COMPLETE'),
      (session) => change(idOf(session), { trigger_event: 'ON_EXPORT' }),
      update(evals.open),
      pressExport(evals.done),
    ],
    send: list(),
    status: 200,
    check: async (_answer, session) => {
      await session.delivered('/ON_COMPLETE')
      expect(session.deliveries.map(({ body }) => at(body, 'EvalID'))).toEqual([evals.done])
    },
  },
  {
    says: 'the body carries the evaluation in full, CompletedAt included',
    given: [subscribe('ON_COMPLETE')],
    send: update(evals.open),
    status: 200,
    check: async (_answer, session) => {
      const [delivery] = await session.delivered('/ON_COMPLETE')
      expect(delivery?.body).toMatchObject({ CompletedAt: instant, Photos: photos(41, 42) })
    },
  },
  {
    says: 'a subscription gets only the events of its rooftop',
    given: [
      subscribe('ON_EXPORT', 'eval', {}, two),
      pressExport(evals.done),
      pressExport(evals.sameCar),
    ],
    send: list(two),
    status: 200,
    check: async (_answer, session) => {
      await session.delivered('/ON_EXPORT')
      expect(session.deliveries.map(({ body }) => at(body, 'EvalID'))).toEqual([evals.sameCar])
    },
  },
  {
    says: 'a subscription gets only its own event',
    given: [subscribe('ON_COMPLETE'), subscribe('ON_EXPORT')],
    send: update(evals.open),
    status: 200,
    check: async (_answer, session) => {
      await session.delivered('/ON_COMPLETE')
      expect(session.deliveries).toHaveLength(1)
    },
  },
  {
    says: 'every subscription to an event gets it',
    given: [subscribe('ON_EXPORT'), subscribe('ON_EXPORT')],
    send: pressExport(evals.done),
    status: 200,
    check: async (_answer, session) =>
      expect(await session.delivered('/ON_EXPORT', 2)).toHaveLength(2),
  },
  {
    says: 'a subscription that was deleted gets nothing',
    given: [
      subscribe('ON_EXPORT'),
      (session) => remove(idOf(session)),
      pressExport(evals.done),
      subscribe('ON_DRIVE_COMPLETED', 'drive'),
      drive(evals.done),
    ],
    send: list(),
    status: 200,
    check: async (_answer, session) => {
      await session.delivered('/ON_DRIVE_COMPLETED')
      expect(session.deliveries).toHaveLength(1)
    },
  },
  {
    says: 'a failed call completes nothing and sends no event',
    given: [
      subscribe('ON_COMPLETE'),
      expecting(400, post('/dcupdateeval', { evalid: evals.open })),
      subscribe('ON_EXPORT'),
      pressExport(evals.done),
    ],
    send: list(),
    status: 200,
    check: async (_answer, session) => {
      await session.delivered('/ON_EXPORT')
      expect(session.deliveries).toHaveLength(1)
    },
  },
])

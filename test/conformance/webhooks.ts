import { expect } from 'vitest'
import type { ApiSession } from './api-session.ts'
import { at, listAt } from './patterns.ts'
import { call, post, type Send, table } from './row.ts'
import { who } from './world.ts'

const path = '/partner/webhooks'
const { one, two, us, wrong } = who
const hook = 'https://example.com/hook'
export const complete = { type: 'eval', trigger_event: 'ON_COMPLETE', webhook: hook }
export const create = (body: object = complete, by = one): Send => post(path, body, by)
export const list = (by = one): Send => call('GET', path, undefined, by)
export const change = (id: unknown, body: object = {}, by = one): Send =>
  call('PUT', `${path}/${id}`, body, by)
export const remove = (id: unknown, by = one): Send =>
  call('DELETE', `${path}/${id}`, undefined, by)
export const idOf = ({ last }: ApiSession) => at(last.body, 'id')

export const webhookRows = table('A §4 Webhooks', [
  { says: 'GET: list: 200, none at first', send: list(), status: 200, body: [] },
  {
    says: 'GET: lists eval and drive subscriptions',
    given: [
      create(),
      create({ type: 'drive', trigger_event: 'ON_DRIVE_COMPLETED', webhook: hook }),
    ],
    send: list(),
    status: 200,
    check: ({ body }) =>
      expect(
        listAt(body)
          .map(({ type }) => type)
          .sort(),
      ).toEqual(['drive', 'eval']),
  },
  {
    says: 'GET: for the rooftop on the key: another rooftop has its own',
    given: [create()],
    send: list(two),
    status: 200,
    body: [],
  },
  { says: 'POST: 201 on create', send: create(), status: 201, body: { id: expect.any(Number) } },
  {
    says: 'POST: a dedicated key subscribes for its rooftop',
    given: [create(complete, us)],
    send: list(us),
    status: 200,
    body: [{ webhook: hook }],
  },
  ...['type', 'trigger_event', 'webhook'].map((name) => ({
    says: `POST: \`${name}\` is required`,
    send: create({ ...complete, [name]: undefined }),
    status: 400,
  })),
  ...[
    ['eval', 'ON_COMPLETE'],
    ['eval', 'ON_EXPORT'],
    ['drive', 'ON_DRIVE_COMPLETED'],
  ].map(([type, event]) => ({
    says: `POST: type ${type} with ${event} is created`,
    send: create({ type, trigger_event: event, webhook: hook }),
    status: 201,
  })),
  {
    says: 'POST: `type`: eval or drive',
    send: create({ ...complete, type: 'x' }),
    status: 400,
    body: { error: expect.stringMatching(/type: has to be one of eval, drive/) },
  },
  {
    says: 'POST: `trigger_event`: one of three',
    send: create({ ...complete, trigger_event: 'ON_WHATEVER' }),
    status: 400,
    body: { error: expect.stringMatching(/trigger_event: has to be ON_COMPLETE, /) },
  },
  {
    says: 'POST: `trigger_event` of the other type (reading of the table in §6: 400)',
    send: create({ ...complete, type: 'drive' }),
    status: 400,
    body: { error: expect.stringContaining('is of type eval, not drive') },
  },
  {
    says: 'POST: `webhook`: a URI',
    send: create({ ...complete, webhook: 'no address' }),
    status: 400,
    body: { error: expect.stringContaining('has to be a URL') },
  },
  {
    says: 'POST: `webhook`: HTTPS',
    send: create({ ...complete, webhook: 'http://example.com/hook' }),
    status: 400,
  },
  {
    says: 'POST: `auth_header_name`, `auth_header_value`: optional',
    send: create({ ...complete, auth_header_name: 'X-Hook', auth_header_value: 'secret' }),
    status: 201,
    // The value is a secret: no answer has it.
    check: ({ body }) =>
      expect(body).toEqual({ id: expect.any(Number), ...complete, auth_header_name: 'X-Hook' }),
  },
  {
    says: 'PUT: 200: the subscription is changed',
    given: [create(), (session) => change(idOf(session), { trigger_event: 'ON_EXPORT' })],
    send: list(),
    status: 200,
    check: ({ body }, { answers }) =>
      expect(body).toEqual([{ ...Object(answers[0]?.body), trigger_event: 'ON_EXPORT' }]),
  },
  {
    says: 'PUT: the body is optional in every field: 200',
    given: [create()],
    send: (session) => change(idOf(session)),
    status: 200,
  },
  {
    says: 'PUT: a `type` that does not fit the event it keeps (reading: 400)',
    given: [create()],
    send: (session) => change(idOf(session), { type: 'drive' }),
    status: 400,
  },
  ...[{ type: 'x' }, { trigger_event: 'ON_WHATEVER' }].map((body) => ({
    says: `PUT: the values that POST takes: not ${JSON.stringify(body)}`,
    given: [create()],
    send: (session: ApiSession) => change(idOf(session), body),
    status: 400,
  })),
  {
    says: 'PUT: `webhook`: HTTPS',
    given: [create()],
    send: (session) => change(idOf(session), { webhook: 'http://example.com/hook' }),
    status: 400,
  },
  ...[77, 0, 'nonsense'].flatMap((id) => [
    { says: `PUT: 404 not found: ${id}`, send: change(id), status: 404 },
    { says: `DELETE: 404 not found: ${id}`, send: remove(id), status: 404 },
  ]),
  {
    says: "PUT: 404 another rooftop's",
    given: [create()],
    send: (session) => change(idOf(session), {}, two),
    status: 404,
  },
  {
    says: 'DELETE: 200',
    given: [create()],
    send: (session) => remove(idOf(session)),
    status: 200,
  },
  {
    says: 'DELETE: it is gone from the list',
    given: [create(), (session) => remove(idOf(session))],
    send: list(),
    status: 200,
    body: [],
  },
  {
    says: 'DELETE: 404 the second time, the next subscription has another id',
    given: [create(), (session) => remove(idOf(session)), create()],
    send: (session) => remove(listedOnce(session)),
    status: 404,
  },
  {
    says: "DELETE: 404 another rooftop's",
    given: [create()],
    send: (session) => remove(idOf(session), two),
    status: 404,
  },
  { says: '403 invalid API key: GET', send: list(wrong), status: 403 },
  { says: '403 invalid API key: POST', send: create(complete, wrong), status: 403 },
  { says: '403 invalid API key: PUT', send: change(1, {}, wrong), status: 403 },
  { says: '403 invalid API key: DELETE', send: remove(1, wrong), status: 403 },
])

/** Id of the subscription that the first step created. */
function listedOnce({ answers }: ApiSession): unknown {
  return at(answers[0]?.body, 'id')
}

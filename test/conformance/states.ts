import { expect } from 'vitest'
import { update } from './dcupdateeval.ts'
import { expecting, post, table } from './row.ts'
import { evals, now } from './world.ts'

const path = '/dcupdateeval'

export const stateRows = [
  ...table('A §3 in progress → Complete', [
    {
      says: 'first call: CompletedAt set, in the response of the call that completes it [A §2]',
      send: update({}),
      status: 200,
      body: { CompletedAt: now },
    },
    {
      says: 'first call without `km`: it stays in progress',
      given: [expecting(400, post(path, { evalid: evals.open }))],
      send: post('/geteval', { evalid: evals.open }),
      status: 400,
    },
    {
      says: 'first call: recon, customer and owner written',
      given: [update({ reconpaint: 300, cName: 'Sam Buyer', userEmail: 'bea@example.com' })],
      send: post('/geteval', { evalid: evals.open }),
      status: 200,
      body: [{ Reconditioning: 300, CustomerName: 'Sam Buyer', UserEmail: 'bea@example.com' }],
    },
    {
      says: 'first call: visible in apps: /geteval reads it',
      given: [update({})],
      send: post('/geteval', { evalid: evals.open }),
      status: 200,
      body: [{ EvalID: evals.open, CompletedAt: now }],
    },
    {
      says: 'first call: visible in apps: /getevallist names it',
      given: [update({})],
      send: post('/getevallist', {}),
      status: 200,
      check: ({ body }) => expect(JSON.stringify(body)).toContain(String(evals.open)),
    },
    {
      says: "first call: `userEmail` puts it in that salesperson's list",
      given: [update({ userEmail: 'bea@example.com' })],
      send: post('/getevallist', { user: 'bea@example.com' }),
      status: 200,
      body: [{ EvalID: evals.open }],
    },
  ]),
  ...table('A §3 Complete → Complete', [
    {
      says: 'later call: fields overwritten',
      given: [update({ price: 20_000, cName: 'First' })],
      send: update({ price: 19_000, cName: 'Second' }),
      status: 200,
      body: { FinalPrice: 19_000, CustomerName: 'Second' },
    },
    {
      says: 'later call: CompletedAt stays, UpdatedAt moves',
      given: [(session) => session.advance(3600)],
      send: update({ price: 19_000 }, evals.done),
      status: 200,
      body: { CompletedAt: '2026-03-02T01:30:00.000Z', UpdatedAt: '2026-03-10T01:00:00.000Z' },
    },
    {
      says: 'later call: `userEmail` reassigns the salesperson',
      send: update({ userEmail: 'bea@example.com' }, evals.done),
      status: 200,
      body: { UserEmail: 'bea@example.com' },
    },
    {
      says: 'later call: another `vin`: /geteval finds it by the new one',
      given: [update({ vin: 'JTMDFREV90D999999' }, evals.done)],
      send: post('/geteval', { vin: 'JTMDFREV90D999999' }),
      status: 200,
      body: [{ EvalID: evals.done }],
    },
    {
      says: 'later call without `userEmail`: the salesperson stays (reading)',
      given: [update({ userEmail: 'bea@example.com' })],
      send: update({ price: 1 }),
      status: 200,
      body: { UserEmail: 'bea@example.com' },
    },
    {
      says: 'later call: fields left out stay (reading)',
      given: [update({ price: 20_000, notes: 'Keep' })],
      send: update({ price: 19_000 }),
      status: 200,
      body: { Notes: 'Keep' },
    },
  ]),
]

import { z } from 'zod'
import { dealerIds, evalid, state, unixSeconds } from '../fields.ts'
import { asReceived, operation, readAs, requiresOneField } from '../operation.ts'
import { placedAt } from '../reading.ts'
import { evaluation, user as userShape } from './shapes.ts'

// Reading evaluations and users [A §4].

/** Completed evaluations by id, VIN or plate [A §4 /geteval]. */
export const getEvaluation = operation({
  name: 'geteval',
  effect: 'read',
  summary: 'Completed evaluations by EvalID, VIN or plate',
  source: '[A §4 /geteval]',
  fields: {
    evalid: evalid.optional(),
    vin: z.string().min(1).optional().describe('every completed one of the group for the VIN'),
    reg: z.string().min(1).optional().describe('plate'),
    registration: z.string().min(1).optional().describe('alias of reg'),
    state: state.optional(),
    user: z.string().min(1).optional().describe('user id or email to read on behalf of'),
  },
  problem: requiresOneField('evalid', 'vin', 'reg', 'registration'),
  statuses: {
    400: 'evaluation not found, or user required and omitted',
    403: 'forbidden or invalid key',
  },
  example: { evalid: 1001 },
  read: readAs(z.array(evaluation)),
})

// The id comes last: at the path "" it is the whole item.
const listItem = placedAt(
  { instant: ['updatedAt'], count: ['id'] },
  ({ appraisal }) => appraisal.evalList,
)

/** Completed evaluations created between two instants [A §4 /getevallist]. */
export const listEvaluations = operation({
  name: 'getevallist',
  effect: 'read',
  summary: 'Completed evaluations of the dealer group, by time of creation',
  source: '[A §4 /getevallist]',
  fields: {
    startdate: unixSeconds.optional().describe('Unix seconds UTC, exclusive lower bound'),
    enddate: unixSeconds
      .optional()
      .describe('Unix seconds UTC, exclusive upper bound; omit to include the most recent'),
    user: z.string().min(1).optional().describe('user id or email'),
    dealerId: dealerIds.optional(),
  },
  statuses: { 400: 'a field of a wrong type, or from / to date strings', 403: 'invalid API key' },
  about: { 400: 'request' },
  example: { startdate: 1_772_323_200 },
  read: asReceived((wire) => [[wire.appraisal.evalList.items, listItem(wire)]]),
})

/** Users of the whole dealer group [A §4 /getuserlist]. */
export const listUsers = operation({
  name: 'getuserlist',
  effect: 'read',
  summary: "Users of the key's whole dealer group, by name",
  source: '[A §4 /getuserlist]',
  fields: {
    user: z.string().min(1).optional().describe('email or UserID, same dealer group'),
    dealerId: dealerIds.optional(),
    includeInactive: z.boolean().optional().describe('default false'),
  },
  statuses: { 400: 'a field of a wrong type', 403: 'forbidden or invalid key' },
  about: { 400: 'request' },
  example: { includeInactive: true },
  read: readAs(z.array(userShape)),
})

export const evaluationOperations = [getEvaluation, listEvaluations, listUsers] as const

import type { z } from 'zod'
import {
  listPastCarHistory,
  listPastPpsr,
  runCarHistory,
  searchPpsr,
  watchPpsr,
} from '../contract/appraisal/checks.ts'
import { enterVin, manualCarEntry, updateEvaluation } from '../contract/appraisal/creation.ts'
import { getEvaluation, listEvaluations, listUsers } from '../contract/appraisal/evaluations.ts'
import { listImages, orderImages, pinHero, uploadImage } from '../contract/appraisal/photos.ts'
import { getPricing } from '../contract/appraisal/pricing.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  updateWebhook,
} from '../contract/appraisal/webhooks.ts'
import type { Effect } from '../contract/operation.ts'
import { checkHistory, searchNewPpsr, watchNewPpsr } from '../contract/vehicle-data/checks.ts'
import { decodeAu, decodeGcc } from '../contract/vehicle-data/decode.ts'
import { pollPrediction, predictPrice } from '../contract/vehicle-data/prediction.ts'
import { getPriceGuide, pollPriceBatch, submitPriceBatch } from '../contract/vehicle-data/prices.ts'

/** Every documented operation by its name, which is the one of `forecourt api`. A list would lose the types of fields and answers. */
export const operations = {
  entervin: enterVin,
  manualcarentry: manualCarEntry,
  dcupdateeval: updateEvaluation,
  imageupload: uploadImage,
  imagelist: listImages,
  imageorder: orderImages,
  imagehero: pinHero,
  geteval: getEvaluation,
  getevallist: listEvaluations,
  getuserlist: listUsers,
  pricingAi: getPricing,
  ppsrsearch: searchPpsr,
  carhistory: runCarHistory,
  getpastppsrsearch: listPastPpsr,
  getpastcarhistory: listPastCarHistory,
  ppsrwatch: watchPpsr,
  'webhooks-list': listWebhooks,
  'webhooks-create': createWebhook,
  'webhooks-update': updateWebhook,
  'webhooks-delete': deleteWebhook,
  gccfactoryvinext: decodeGcc,
  vindatabasic: decodeAu,
  historyCheck: checkHistory,
  ppsrNewSearch: searchNewPpsr,
  'ppsrNewSearch-watch': watchNewPpsr,
  gccpriceguide: getPriceGuide,
  'price-batch': submitPriceBatch,
  'price-batch-status': pollPriceBatch,
  prediction: predictPrice,
  'prediction-status': pollPrediction,
}
type Operations = typeof operations

/** For each asynchronous operation the one that is polled. */
export const polledBy = {
  pricingAi: 'pricingAi',
  'price-batch': 'price-batch-status',
  prediction: 'prediction-status',
} as const

/** The names of the operations with these effects. */
export type NameOf<Reach extends Effect> = {
  [N in keyof Operations]: Operations[N]['effect'] extends Reach ? N : never
}[keyof Operations]
/** The names of those that are asynchronous. */
export type PolledNameOf<Reach extends Effect> = NameOf<Reach> & keyof typeof polledBy
/** The fields of an operation. */
export type FieldsOf<N extends keyof Operations> = z.input<Operations[N]['fields']>
/** The documented answer of an operation. */
export type AnswerOf<N extends keyof Operations> = ReturnType<Operations[N]['read']>

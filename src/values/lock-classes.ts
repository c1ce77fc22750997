/**
 * First keys of our advisory locks, so that locks on different things never collide; the second key says which one. sql/migrations
 * locks the days of a rooftop's aggregates with 7381, the vehicles of a dealer group's with 7382, and the statistics with 7383.
 */
export const lockClass = {
  /** A run, by its process. */
  run: 7300,
  /** Signing the links of a vehicle again. */
  signLinks: 7301,
  /** A budget of billable calls, by hash of its name. */
  budget: 7302,
  /** The owner of a billable call. */
  call: 7303,
  /** Assembling a price batch of a rooftop. */
  batch: 7304,
  /** Salespeople of a dealer group. */
  salespeople: 7305,
  /** A stock import of a rooftop. */
  import: 7306,
  /** Loads (shared) against an erasure (exclusive); the second key is 0. */
  erasure: 7307,
  /** Checking whether a job is due, by hash of its name. */
  job: 7308,
  /** An attempt of a job run, by its process. */
  jobRun: 7309,
  /** Sending alerts; the second key is 0. */
  alert: 7310,
  /** Searching for work that the queue has lost; the second key is 0. */
  repair: 7311,
  /** Deliveries of a rooftop that are being loaded. */
  hints: 7330,
  /** Setting the webhook subscriptions of a rooftop. */
  webhooks: 7331,
} as const

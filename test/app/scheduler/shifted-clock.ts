// Loaded into a child with --import if libfaketime is not installed: a Date that is TEST_CLOCK_AHEAD_SECONDS ahead.
const aheadMs = Number(process.env['TEST_CLOCK_AHEAD_SECONDS']) * 1000
const RealDate = Date

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, self) =>
    Reflect.construct(target, given.length === 0 ? [RealDate.now() + aheadMs] : given, self),
  get: (target, name, self) =>
    name === 'now' ? () => target.now() + aheadMs : Reflect.get(target, name, self),
})

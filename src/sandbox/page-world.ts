import { copyable, type Html, html, table } from './page-html.ts'
import { samples } from './samples.ts'
import type { SandboxState } from './sandbox-state.ts'

const shownRooftops = 60

/** The addresses of both services. */
export function servicesSection({ origin, vehicleDataOrigin, wire }: SandboxState): Html {
  const { authHeader, authPrefix } = wire.appraisal
  return html`<section id="services" aria-label="Services">
  <div class="cards">
    <div class="card">
      <h2>Appraisal service</h2>
      <p class="url">${copyable(`${origin}/v1`)}</p>
      <p>Key in the header <code>${authHeader}: ${authPrefix}&lt;key&gt;</code>; with a partner key also
        <code>X-Dealer-Id: &lt;rooftop uid&gt;</code> <span class="cite">[A §5]</span></p>
    </div>
    <div class="card">
      <h2>Vehicle-data APIs</h2>
      <p class="url">${copyable(vehicleDataOrigin)}</p>
      <p>Paths begin with <code>/v1</code>. Key in the header <code>Authorization: &lt;key&gt;</code>
        <span class="cite">[V §5]</span></p>
    </div>
  </div>
</section>`
}

/** Keys and rooftops to copy; all are invented. */
export function keysSection({ world, vehicleDataKey }: SandboxState): Html {
  const { rooftops } = world
  const shown = rooftops.slice(0, shownRooftops)
  const keys = world.keys
    .slice(0, shownRooftops)
    .map((key) => [
      key.name,
      copyable(key.value),
      key.kind,
      key.region,
      key.rooftopUids.length,
      key.user === null ? 'linked' : html`<code>${key.user}</code>`,
    ])
  const vehicleData = ['vehicle-data', copyable(vehicleDataKey), '–', 'any', '–', '–']
  const rows = shown.map(({ uid, name, dealerId, region, timezone, currency }) => [
    name,
    copyable(uid),
    dealerId,
    region,
    timezone,
    currency,
    world.keys.find(({ rooftopUids }) => rooftopUids.includes(uid))?.name ?? 'none',
  ])
  const more = rooftops.length - shown.length
  const rooftopHeadings = ['rooftop', 'uid', 'DealerID', 'region', 'time zone', 'currency', 'key']
  return html`<section id="keys" aria-labelledby="keys-title">
  <h2 id="keys-title">Keys and rooftops</h2>
  <p>All of it is invented, and meant to be copied. A key with a user in this table has no linked user: send this user as
    <code>user</code> with <code>/geteval</code> <span class="cite">[A §4]</span>.</p>
  ${table('API keys', ['name', 'key', 'kind', 'region', 'rooftops', 'user'], [...keys, vehicleData])}
  ${table('Rooftops', rooftopHeadings, rows)}
  ${more > 0 ? html`<p>… and ${more} more.</p>` : null}
</section>`
}

/** VINs that always behave the same. */
export function samplesSection(): Html {
  const rows = Object.values(samples).map(({ vin, region, shows }) => [
    copyable(vin),
    region,
    shows,
  ])
  return html`<section id="samples" aria-labelledby="samples-title">
  <h2 id="samples-title">Sample VINs</h2>
  <p>They behave the same in every world, and use no look-up quota. An image of a VIN is really decoded, but its VIN is
    taken from its file name, e.g. <code>SAMPLEGCC00000001.jpg</code>.</p>
  ${table('Sample VINs', ['VIN', 'region', 'what it shows'], rows)}
</section>`
}

import { createHash } from 'node:crypto'
import { operationGroups } from './operation-groups.ts'
import { controlsSection } from './page-controls.ts'
import { Html, html } from './page-html.ts'
import { anchorOf, operationsSection } from './page-operations.ts'
import { pageScript } from './page-script.ts'
import { pageStyle } from './page-style.ts'
import { wireSection } from './page-wire.ts'
import { keysSection, samplesSection, servicesSection } from './page-world.ts'
import type { SandboxState } from './sandbox-state.ts'

/** Allows only the style and script of the page itself, and loads nothing. */
export const pagePolicy = [
  "default-src 'none'",
  `style-src '${hashOf(pageStyle)}'`,
  `script-src '${hashOf(pageScript)}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" +
  "<rect width='16' height='16' rx='4' fill='%230b5fae'/><path d='M5 12V4h6M5 8h5' stroke='white' stroke-width='2' fill='none'/></svg>"

/** The page at the root of the sandbox: one document without further requests. */
export function sandboxPage(service: SandboxState): string {
  const page = html`<!doctype html>
<html lang="en-AU">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Forecourt sandbox</title>
<link rel="icon" href="${icon}">
<style>${new Html(pageStyle)}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
${pageHeader(service)}
<div class="wrap layout">
${navigation}
<main id="main">
${servicesSection(service)}
${keysSection(service)}
${operationsSection(service)}
${samplesSection()}
${controlsSection(service)}
${wireSection(service.wire)}
<footer>Sources: [A §n] the document of the appraisal service, [V §n] that of the vehicle-data APIs.</footer>
</main>
</div>
<script>${new Html(pageScript)}</script>
</body>
</html>
`
  return page.text
}

function pageHeader({ world, clock }: SandboxState): Html {
  const time = clock.now().toISOString().slice(0, 19)
  return html`<header class="top"><div class="wrap">
  <h1>Forecourt <span>sandbox</span></h1>
  <p class="lead">Both documented services on this machine, with a made-up world behind them. Nothing here is real, and
    nothing costs money.</p>
  <ul class="facts">
    <li><b>${world.rooftops.length}</b> rooftops</li>
    <li><b>${world.size.toLocaleString('en')}</b> evaluations</li>
    <li>its time: <b>${time}Z</b></li>
    <li><a href="/docs">Try it out (Swagger UI)</a></li>
    <li><a href="/openapi.json">OpenAPI 3.1</a></li>
  </ul>
</div></header>`
}

const navigation = html`<nav aria-label="Sections"><ul>
  <li><a href="#services">Services</a></li>
  <li><a href="#keys">Keys and rooftops</a></li>
  <li><a href="#operations">Operations</a><ul>
    ${operationGroups.map(({ name }) => html`<li><a href="#${anchorOf(name)}">${name}</a></li>`)}
  </ul></li>
  <li><a href="#samples">Sample VINs</a></li>
  <li><a href="#controls">Controls</a></li>
  <li><a href="#wire">Wire names</a></li>
</ul></nav>`

#!/usr/bin/env node
// The entry of the package. It is plain ES5 in a CommonJS file, so that every Node can read it and say what it lacks.
// biome-ignore lint/complexity/useArrowFunction: ES5 has no arrow functions.
;(function (major: number, minor: number) {
  if (major < 22 || (major === 22 && minor < 22)) {
    process.stderr.write(
      'forecourt needs Node.js 22.22 or newer, this is ' +
        process.versions.node +
        ': in a checkout run it as "npm run -s forecourt -- …", which brings its own.\n',
    )
    process.exit(2)
  }
  // main.ts loads this file for the check alone. start.cjs is read only now: an old Node cannot parse it.
  if (require.main === module) require('./start.cjs')
})(Number(process.versions.node.split('.')[0]), Number(process.versions.node.split('.')[1]))

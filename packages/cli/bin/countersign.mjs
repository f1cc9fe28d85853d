#!/usr/bin/env node
// Plain JavaScript, so that an older Node says what is wrong instead of failing to read TypeScript.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 19)) {
  console.error(
    `countersign needs Node.js 24.19 or later; this is ${process.version}. In a checkout, npm scripts and npx bring it.`,
  )
  process.exit(2)
}
await import('../src/main.ts')

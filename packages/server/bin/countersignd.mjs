#!/usr/bin/env node
import module from 'node:module'
import { join } from 'node:path'

// Plain JavaScript, so that an older Node says what is wrong instead of failing to read TypeScript.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 19)) {
  console.error(
    `countersignd needs Node.js 24.19 or later; this is ${process.version}. In a checkout, npm scripts and npx bring it.`,
  )
  process.exit(2)
}
// What one start has compiled the next one finds, where this directory can be written to: never one of all users.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../.compile-cache')
module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
await import('../src/main.ts')

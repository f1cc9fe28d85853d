#!/usr/bin/env node
import { existsSync } from 'node:fs'

// Plain JavaScript, so that an old Node can print the error below. Runs the built files if they exist, else the source.
const built = new URL('../lib/forward-auth/main.js', import.meta.url)
const published = existsSync(built)
const [major, minor] = process.versions.node.split('.').map(Number)
const [needMajor, needMinor] = published ? [20, 19] : [24, 19]
if (major < needMajor || (major === needMajor && minor < needMinor)) {
  console.error(
    `countersign-gateway needs Node.js ${needMajor}.${needMinor} or later here; this is ${process.version}.`,
  )
  process.exit(2)
}
const { runGateway } = await import(published ? built.href : '../src/forward-auth/main.ts')
process.exitCode = await runGateway(process.argv.slice(2))

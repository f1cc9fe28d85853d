import { runCountersignd } from './operator/program.ts'

const exitCode = await runCountersignd(process.argv.slice(2))
if (exitCode !== 0) process.exitCode = exitCode

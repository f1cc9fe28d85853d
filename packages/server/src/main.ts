import { runCountersignd } from './service/cli/program.ts'

// Files that commands create are readable by their user only.
process.umask(0o077)
// A reader such as `head` may stop reading. What the command does still comes to its end.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}
const exitCode = await runCountersignd(process.argv.slice(2), process)
if (exitCode !== 0) process.exitCode = exitCode

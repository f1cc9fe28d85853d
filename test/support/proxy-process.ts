import { spawn } from 'node:child_process'
import type { Cleanup } from './service.ts'
import { until } from './until.ts'

/**
 * Starts a program that listens on a port of 127.0.0.1.
 * @param dir a directory for what it writes
 * @returns where it answers
 */
export async function startServer(
  t: Cleanup,
  [program = '', ...args]: readonly string[],
  dir: string,
  port: number,
): Promise<string> {
  const child = spawn(program, args, {
    env: {
      PATH: `${process.env.PATH}:/usr/sbin`,
      HOME: dir,
      XDG_DATA_HOME: dir,
      XDG_CONFIG_HOME: dir,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.after(async () => {
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 5000)
    await exited
    clearTimeout(late)
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended:\n${output}`)
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
  return url
}

/** What Debian's nginx.conf is around conf.d/, without its daemon, logs and system directories. */
export function nginxAround(dir: string, file = 'countersign.conf'): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
pid ${dir}/nginx.pid;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
events {}
http {
  access_log off;
  ${kinds.map((kind) => `${kind}_temp_path ${dir}/${kind};`).join(' ')}
  include ${dir}/${file};
}
`
}

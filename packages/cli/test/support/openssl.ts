import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { needTool } from '../../../../test/support/tools.ts'

/** Runs openssl, which has to succeed. @returns its standard output */
export async function openssl(...args: string[]): Promise<Buffer> {
  needTool('openssl')
  const { stdout } = await promisify(execFile)('openssl', args, { encoding: 'buffer' })
  return stdout
}

/** The public key of a PEM file, in base64: the last 32 bytes of its DER. */
export async function opensslPublicKey(privateKeyFile: string): Promise<string> {
  const der = await openssl('pkey', '-in', privateKeyFile, '-pubout', '-outform', 'DER')
  return der.subarray(-32).toString('base64')
}

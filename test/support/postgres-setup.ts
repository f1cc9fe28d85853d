import { type PostgresServer, startPostgres } from './postgres.ts'

/** For `node --test --test-global-setup`: one PostgreSQL for all files of a run, whose tests keep their data in it. */
let server: PostgresServer | null = null

export async function globalSetup(): Promise<void> {
  server = await startPostgres()
  process.env.TEST_DATABASE = 'postgres'
  process.env.TEST_POSTGRES = server.url
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}

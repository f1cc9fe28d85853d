import { EXPANDING, migrateAsNext } from './next-migrations.ts'

// A process of the next release that starts.
console.log(JSON.stringify(await migrateAsNext(process.env as Record<string, string>, EXPANDING)))

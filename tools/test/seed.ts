import fc from 'fast-check'

// `npm test` judges a change: it asks the same of every change. The other tiers look for what nobody thought of.
if (process.env.TEST_TIER === 'quick') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 })

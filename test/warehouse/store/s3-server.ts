import S3rver from '@20minutes/s3rver'

// An S3 server of another project with one bucket, in a process of its own: it makes the tokens of its lists with a cipher that
// node has only with --openssl-legacy-provider. Prints its port.
const server = new S3rver({
  ...{ address: '127.0.0.1', port: 0, silent: true, directory: process.argv[2]! },
  configureBuckets: [{ name: 'analytics', configs: [] }],
})
const { port } = await server.run()
console.log(port)

// What runs in a sandbox of test_aws.py: calls by AWS's own SDK with what
// `tapward env` printed and nothing else. Prints one JSON object: what each
// call gave.
const { Readable } = require('stream');
const { DynamoDBClient, GetItemCommand } = require('@aws-sdk/client-dynamodb');
const { InvokeCommand, LambdaClient } = require('@aws-sdk/client-lambda');
const { GetObjectCommand, PutObjectCommand, S3Client } = require('@aws-sdk/client-s3');
const { GetCallerIdentityCommand, STSClient } = require('@aws-sdk/client-sts');
const { getSignedUrl } = require('@aws-sdk/s3-request-presigner');

const of = (service, more) => ({ endpoint: `https://${service}.example.com`,
  maxAttempts: 1, ...more });
const s3 = new S3Client(of('s3', { forcePathStyle: true }));
const object = { Bucket: 'bucket', Key: 'a b/c+d=(1)\u00e9' };
const pieces = (size) => Readable.from((function* () {
  for (let left = size; left > 0; left -= 10000) yield Buffer.alloc(Math.min(left, 10000), 'z');
})());

const calls = {
  put_bytes: async () => (await s3.send(new PutObjectCommand(
    { ...object, Body: Buffer.alloc(200000, 'x') }))).ETag,
  put_stream: async () => (await s3.send(new PutObjectCommand(
    { ...object, Body: pieces(300000), ContentLength: 300000 }))).ETag,
  get: async () => (await s3.send(new GetObjectCommand(object))).Body.transformToString(),
  dynamodb: async () => (await new DynamoDBClient(of('dynamodb')).send(new GetItemCommand(
    { TableName: 't', Key: { k: { S: 'v' } } }))).$metadata.httpStatusCode,
  invoke: async () => Buffer.from((await new LambdaClient(of('lambda')).send(new InvokeCommand(
    { FunctionName: 'f', Payload: '{}' }))).Payload).toString(),
  identity: async () => (await new STSClient(of('sts')).send(
    new GetCallerIdentityCommand({}))).Account,
  presigned_get: async () => (await fetch(await getSignedUrl(s3,
    new GetObjectCommand(object), { expiresIn: 60 }))).text(),
};

(async () => {
  const said = {};
  for (const [name, call] of Object.entries(calls)) {
    try { said[name] = ['ok', await call()]; }
    catch (error) { said[name] = [error.name, error.message]; }
  }
  console.log(JSON.stringify(said));
})();

//! What is sent and taken as it is, before it is understood.

use bytes::{Buf, BufMut, Bytes};
use prost::Message;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// Sends messages, and takes bytes.
#[derive(Debug, Default)]
pub(super) struct Raw<Q>(std::marker::PhantomData<fn() -> Q>);

/// One half of [`Raw`].
#[derive(Debug, Default)]
pub(super) struct Half<Q>(std::marker::PhantomData<fn() -> Q>);

impl<Q> Raw<Q> {
    /// For questions of that kind.
    pub(super) fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<Q: Message + 'static> Codec for Raw<Q> {
    type Encode = Q;
    type Decode = Bytes;
    type Encoder = Half<Q>;
    type Decoder = Half<Q>;

    fn encoder(&mut self) -> Half<Q> {
        Half(std::marker::PhantomData)
    }

    fn decoder(&mut self) -> Half<Q> {
        Half(std::marker::PhantomData)
    }
}

impl<Q: Message> Encoder for Half<Q> {
    type Item = Q;
    type Error = Status;

    fn encode(&mut self, item: Q, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item.encode_to_vec());
        Ok(())
    }
}

impl<Q> Decoder for Half<Q> {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

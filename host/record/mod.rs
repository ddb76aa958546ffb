//! The record room.
